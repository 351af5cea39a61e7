"""What every figure shares: trials, their journal, tables, checks and drawing. Knows no mechanism."""
