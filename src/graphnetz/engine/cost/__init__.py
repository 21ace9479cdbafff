"""What a plan would cost before anything is trained: time, memory, parameters."""
