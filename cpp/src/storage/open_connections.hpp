// The connections of this process that a fork must not share: locks of files and sockets to servers belong to one process.
#pragma once

namespace resonate {

// A storage that holds such a connection. It registers itself.
class OpenConnection {
 public:
  OpenConnection(const OpenConnection&) = delete;
  OpenConnection& operator=(const OpenConnection&) = delete;

  // Closes the connection; the next transaction opens a new one.
  virtual void disconnect() noexcept = 0;
  // Opens the connection again, if no transaction will.
  virtual void resume() noexcept {}

 protected:
  OpenConnection();
  virtual ~OpenConnection();
};

}  // namespace resonate
