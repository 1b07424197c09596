"""Conversion of LSTM, GRU and RNN, as sequences and as single cells."""
