"""Jobs at work: processes on one file that are killed, and workflows of the published SDK that await them."""
