"""A mirror that runs: follows the timetable against real sources, learns change rates, plans anew, survives crashes."""
