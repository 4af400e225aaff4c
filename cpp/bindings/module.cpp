// resonate_core._core: calls the bind functions, in the order in which the types are needed.
#include <pybind11/pybind11.h>

#include "bind.hpp"
#include "misuse.hpp"
#include "sqlite_choice.hpp"

PYBIND11_MODULE(_core, module) {
  namespace bindings = resonate::python;
  module.attr("__version__") = RESONATE_VERSION;

  bindings::choose_sqlite();
  bindings::bind_errors(module);
  bindings::bind_values(module);
  bindings::bind_records(module);
  bindings::bind_events(module);
  bindings::bind_results(module);
  bindings::bind_clock(module);
  bindings::bind_promises(module);
  bindings::bind_tasks(module);
  bindings::bind_schedules(module);
  bindings::bind_job_records(module);
  bindings::bind_jobs(module);
  bindings::bind_queues(module);
  bindings::bind_views(module);
  bindings::bind_texts(module);
  bindings::bind_traces(module);
  bindings::bind_requests(module);
  bindings::bind_made_requests(module);
  bindings::bind_wire_fields(module);
  bindings::bind_watch(module);
  bindings::bind_store(module);
  bindings::bind_check_file(module);
  bindings::bind_database(module);
  bindings::bind_cron(module);
  bindings::bind_fork_safety(module);
  bindings::bind_interrupts(module);
  bindings::bind_finished_classes(module);
  bindings::explain_misuse(module);
  bindings::bind_documentation(module);
}
