// The functions that module.cpp calls: one per noun, in the order in which their types are needed.
#pragma once

#include <pybind11/pybind11.h>

namespace resonate::python {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_values(py::module_& module);
void bind_records(py::module_& module);
void bind_events(py::module_& module);
void bind_results(py::module_& module);
void bind_clock(py::module_& module);
void bind_promises(py::module_& module);
void bind_tasks(py::module_& module);
void bind_schedules(py::module_& module);
void bind_job_records(py::module_& module);
void bind_jobs(py::module_& module);
void bind_queues(py::module_& module);
void bind_views(py::module_& module);
void bind_texts(py::module_& module);
void bind_traces(py::module_& module);
void bind_requests(py::module_& module);
void bind_made_requests(py::module_& module);
void bind_wire_fields(py::module_& module);
void bind_watch(py::module_& module);
void bind_store(py::module_& module);
void bind_check_file(py::module_& module);
void bind_database(py::module_& module);
void bind_cron(py::module_& module);
void bind_fork_safety(py::module_& module);
void bind_interrupts(py::module_& module);
void bind_finished_classes(py::module_& module);  // after all other classes
void bind_documentation(py::module_& module);     // after all functions

}  // namespace resonate::python
