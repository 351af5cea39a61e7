"""Nothing leaves but answers: the answers of one table, replayed on its neighbour, must give the same bytes."""
