"""What a cell is named by: its code, data, protocol and seed; and where it was made."""
