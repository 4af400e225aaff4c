"""The timeline of a recording: its data, its picture, and the widget of notebooks."""
