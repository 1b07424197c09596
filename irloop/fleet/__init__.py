"""Many models on many machines: `irloop sweep` on top of Dask (the extra ``irloop[fleet]``).

A sweep lists models (`sources`), gives them in batches to the workers of a Dask cluster (`driver`,
`cluster`), which fetch them (`fetching`) and run the steps on each in a child process (`runner`,
`child`), and appends the rows that come back to a table of Parquet files (`table`), from which
reports are made (`summary`).
"""
