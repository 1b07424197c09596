"""Processes many models on many machines, for `irloop sweep`.

It is based on Dask (the extra ``irloop[fleet]``). A sweep lists models (`sources`) and gives them
in batches to the workers of a Dask cluster (`driver`, `cluster`). The workers fetch the models
(`fetching`) and run the steps on each in a child process (`runner`, `child`). The sweep appends the
rows that they return to a table of Parquet files (`table`), from which reports are made
(`summary`).
"""
