"""What every display in a notebook needs: tables, scripts of widgets, and pictures for exports."""
