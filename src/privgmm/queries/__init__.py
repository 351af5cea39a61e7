"""What may be asked of private rows: one file a question, the integers of a row and the proven sensitivity of their sum."""
