"""Jobs in real processes: workers on one file that are killed, and workflows of the published SDK that await jobs."""
