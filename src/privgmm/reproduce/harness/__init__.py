"""What all figures share: trials, their journal, tables, checks and drawing. Nothing here knows a mechanism."""
