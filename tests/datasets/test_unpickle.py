"""The restricted unpickler reads arrays and refuses programs."""

from __future__ import annotations

import collections
import hashlib
import os
import pickle
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphnetz._core.errors import DataError
from graphnetz._core.unpickle import loads, read_pickle, read_torch


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Reduce:
    """Pickles to a call of ``function(*arguments)``."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


MALICIOUS = {
    "os.system": Reduce(os.system, "touch pwned"),
    "subprocess": Reduce(subprocess.check_output, ["touch", "pwned"]),
    "eval": Reduce(eval, "1"),
    "exec": Reduce(exec, "1"),
    "getattr": Reduce(getattr, "a", "upper"),
    "import": Reduce(__import__, "os"),
    "open": Reduce(open, "pwned", "w"),
    "torch.load": Reduce(torch.load, "pwned"),
    "numpy.load": Reduce(np.load, "pwned"),
    "numpy.fromfile": Reduce(np.fromfile, "pwned"),
    "sparse.load": Reduce(sp.load_npz, "pwned"),
    "nested": [np.arange(3), {"a": Reduce(os.system, "touch pwned")}],
    "factory": collections.defaultdict(os.getcwd),
}


@pytest.mark.parametrize("name", MALICIOUS)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_programs_are_refused_even_with_a_pinned_hash(tmp_path, monkeypatch, name, protocol):
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(MALICIOUS[name], protocol=protocol)
    (tmp_path / "evil.pkl").write_bytes(content)
    with pytest.raises(DataError, match="refused"):
        read_pickle(tmp_path / "evil.pkl", sha256=sha(content))
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cos\nsystem\n(S'touch pwned'\ntR.",
        b"cnumpy\nos.system\n.",
        b"\x80\x04\x8c\x05numpy\x8c\x10_core.multiarray\x93.",
        b"cscipy.sparse.linalg\neigs\n.",
        b"ctorch.storage\nos\n.",
        b"ctorch._utils\n_import_dotted_name\n.",
        b"c__builtin__\neval\n.",
        b"cbuiltins\nobject\n.",
        b"Pwhatever\n.",
        b"\x80\x02\x82\x01.",
        b"c_codecs\nencode\n(S'a'\nS'zip'\ntR.",
    ],
)
def test_hand_made_opcodes_are_refused(content):
    with pytest.raises(DataError):
        loads(content)


def test_tensor_storage_inside_a_pickle_is_not_a_back_door(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inner = tmp_path / "inner.pt"
    torch.save(MALICIOUS["os.system"], inner)
    content = pickle.dumps(Reduce(torch.storage._load_from_bytes, inner.read_bytes()))
    with pytest.raises(DataError):
        loads(content)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_arrays_matrices_tensors_and_containers_are_read(tmp_path, protocol):
    graph = collections.defaultdict(list, {0: [1, 2], 1: [0]})
    value = {
        "array": np.arange(6, dtype=np.float32).reshape(2, 3),
        "order": np.asfortranarray(np.eye(3)),
        "number": np.int64(3),
        "sparse": sp.random(5, 4, density=0.4, format="csr", random_state=0),
        "tensor": torch.arange(5),
        "view": torch.arange(12.0).reshape(3, 4)[:, 1:3],
        "graph": graph,
        "ordered": collections.OrderedDict(a=1),
        "plain": [(1, 2.5, None, True, b"x"), {"s"}],
    }
    content = pickle.dumps(value, protocol=protocol)
    (tmp_path / "a.pkl").write_bytes(content)
    back = read_pickle(tmp_path / "a.pkl", sha256=sha(content))
    np.testing.assert_array_equal(back["array"], value["array"])
    np.testing.assert_array_equal(back["order"], value["order"])
    assert back["number"] == 3
    np.testing.assert_array_equal(back["sparse"].toarray(), value["sparse"].toarray())
    assert torch.equal(back["tensor"], value["tensor"])
    assert torch.equal(back["view"], value["view"])
    assert back["graph"] == graph
    assert back["ordered"] == value["ordered"]
    assert back["plain"] == value["plain"]


def test_wrong_hash_is_refused_before_parsing(tmp_path):
    (tmp_path / "a.pkl").write_bytes(pickle.dumps([1]))
    with pytest.raises(DataError, match="pinned is"):
        read_pickle(tmp_path / "a.pkl", sha256="0" * 64)


def test_broken_pickle_is_named(tmp_path):
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04]")
    with pytest.raises(DataError, match="not a readable pickle"):
        read_pickle(tmp_path / "a.pkl", sha256=sha(b"\x80\x04]"))


def test_torch_files_with_tensors_and_arrays_are_read_and_others_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save([{"x": torch.arange(3), "n": np.arange(4), "s": "text"}], tmp_path / "ok.pt")
    back = read_torch(tmp_path / "ok.pt")
    assert torch.equal(back[0]["x"], torch.arange(3))
    np.testing.assert_array_equal(back[0]["n"], np.arange(4))
    torch.save(MALICIOUS["os.system"], tmp_path / "evil.pt")
    with pytest.raises(DataError, match="was not read"):
        read_torch(tmp_path / "evil.pt")
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(DataError, match="was not read"):
        read_torch(tmp_path / "text.pt")
    assert not (tmp_path / "pwned").exists()
