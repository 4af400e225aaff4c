"""What a state or a recording tells: spans of records and jobs, who waits for whom, and what differs between two states."""
