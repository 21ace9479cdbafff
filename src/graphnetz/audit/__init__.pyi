from graphnetz.audit.checks import CHECKS as CHECKS
from graphnetz.audit.checks import Finding as Finding
from graphnetz.audit.checks import Inspected as Inspected
from graphnetz.audit.checks import check as check
from graphnetz.audit.inspect import audit as audit
from graphnetz.audit.inspect import audit_section as audit_section
from graphnetz.audit.inspect import inspect_task as inspect_task
