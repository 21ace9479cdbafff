from graphnetz.use.folder import Trained as Trained
from graphnetz.use.folder import open_model as open_model
from graphnetz.use.predicting import predict as predict
from graphnetz.use.training import train_model as train_model
