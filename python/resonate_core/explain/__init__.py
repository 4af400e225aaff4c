"""What a state or a recording tells: why an id does not move, spans of records and jobs, who waits for whom, what differs."""
