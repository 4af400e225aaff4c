// The SQLite library of the module: that of Python's sqlite3 if possible.
#pragma once

namespace resonate::python {

// Chooses it. If it is another copy than Python's, sqlite3.connect() refuses a file that a store of this process has open.
void choose_sqlite();

}  // namespace resonate::python
