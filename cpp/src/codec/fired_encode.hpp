// Encodes the result of an internal step: it is `res` in a line of a trace and `detail` in a Fired.
#pragma once

#include "codec/members_write.hpp"
#include "codec/node.hpp"
#include "resonate/requests.hpp"

namespace resonate {

template <DocumentSink Sink>
void encode_fired_detail(Sink& sink, const Fired& fired) {
  sink.begin_object();
  switch (fired.kind) {
    case StepKind::listener_drain:
    case StepKind::dispatch: write_text(sink, Field::address, fired.detail); break;
    case StepKind::callback_drain: write_text(sink, Field::awaiter, fired.detail); break;
    case StepKind::schedule:
      sink.key(Field::step_promise_id);
      if (fired.detail.empty()) {
        sink.null();
      } else {
        sink.string(fired.detail);
      }
      sink.key(Field::created);
      sink.boolean(fired.created);
      break;
    case StepKind::schedule_set_aside: write_text(sink, Field::problem, fired.detail); break;
    case StepKind::cancel_drain:
      write_text(sink, Field::job, fired.detail);
      sink.key(Field::cancelled);
      sink.boolean(fired.created);
      break;
    case StepKind::job_batch: write_text(sink, Field::batch, fired.detail); break;
    case StepKind::promise_timeout:
    case StepKind::lease_expiry:
    case StepKind::job_ready:
    case StepKind::job_expiry:
    case StepKind::job_lease:
    case StepKind::job_timeout:
    case StepKind::job_retention:
    case StepKind::job_retention_put_off: break;
  }
  sink.end_object();
}

}  // namespace resonate
