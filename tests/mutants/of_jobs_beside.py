"""Mutants of the transactions on jobs that run beside those of other processes (decision 52)."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "beside others a claim does not lock its jobs",
        "storage",
        'select_range("promises", Index::claim) + «" FOR UPDATE SKIP LOCKED"»',
        '""',
    ),
    Mutant(
        "beside others two jobs get one unique key",
        "storage",
        "send(PostgresQuery::lock_keys, PostgresParameters().text(address_.schema).text(address_.schema).texts(queues).texts(keys));",
        "",
        statement=True,
    ),
    Mutant(
        "beside others a unique key is taken from the job that has it",
        "storage",
        "if («!jobs.keys.empty() && results[holders].row(0).integer(0) > 0») run_again(true);",
        "false",
    ),
    Mutant(
        "beside others a claim says that there is no job while another one has it in hand",
        "storage",
        "«std::cmp_not_equal(read.integer(kSharedClaimable), locked.rows.size())»",
        "false",
    ),
    Mutant(
        "beside others a job that this process has written is not locked",
        "storage",
        'return «"SELECT id AS _, xmin::text::bigint AS _ FROM promises WHERE id = ANY (?::text[]) AND enqueued_at IS NULL ORDER BY id "\n'
        '             "FOR UPDATE"»;',
        '"SELECT id AS _, xmin::text::bigint AS _ FROM promises WHERE id = ANY (?::text[]) AND enqueued_at IS NULL ORDER BY id"',
    ),
    Mutant(
        "beside others a job is as this process wrote it, although another one has written it since",
        "storage",
        "if (row != found.end() && «row->second == one.transaction») {",
        "true",
    ),
    Mutant(
        "beside others a job stays as this process wrote it after the process was alone",
        "storage",
        "«written_.forget(changes);»",
        "",
        statement=True,
    ),
    Mutant(
        "beside others a job is deleted without a lock, although another process has written it since",
        "storage",
        'is("p.id", "u.id") + «" AND p.xmin::text::bigint = u.writer RETURNING 1), "»',
        '" RETURNING 1), "',
    ),
    Mutant(
        "beside others a job that could not be deleted is taken for deleted",
        "storage",
        'deletes ? «"CASE WHEN (SELECT count(*) FROM gone) = ? THEN ?::bigint END"» : "?"',
        '"CASE WHEN (SELECT count(*) FROM gone) <= ? THEN ?::bigint END"',
    ),
    Mutant(
        "beside others a job that was not locked and is not deleted is believed",
        "storage",
        "if (!others && «deleted == assumed.size()») return;",
        "true",
    ),
    Mutant(
        "beside others a job that another process has written is not read again",
        "storage",
        "for (const WrittenRows::One& one : lookups_.assumed()) «written_.forget(one.row->id());»",
        "",
        statement=True,
    ),
    Mutant(
        "beside others jobs are deleted in the order of the request",
        "storage",
        "«std::ranges::sort(assumed_, {}, [](const WrittenRows::One& one) -> const std::string& { return one.row->id(); });»",
        "",
        statement=True,
    ),
    Mutant(
        "beside others a claim begins at a mark that was lowered meanwhile",
        "storage",
        "if («stored_claim_mark(claim.queue) < locked.from» ||",
        "false",
    ),
    Mutant(
        "beside others a claim leaves what it has locked",
        "storage",
        "[&](const RowRef& row) { return «claimed.contains(row.get())»; }",
        "true",
    ),
    Mutant(
        "beside others a claim makes a job claimable",
        "storage",
        "«(claims_.empty() || (change.before && !claimable))»",
        "true",
    ),
    Mutant(
        "beside others the limits of a queue hold for what its row counts",
        "storage",
        "if (queue && «(queue->concurrency > 0 || queue->rate)») run_again(true);",
        "false",
    ),
    Mutant(
        "beside others a job comes before the mark of claims",
        "storage",
        "return «claim && std::pair(claim->major, claim->minor) < stored_claim_mark(*claim->queue)»;",
        "false",
    ),
    Mutant(
        "beside others a lease ends before the mark of what is due",
        "storage",
        "if («due && due->major < stored_marks_.due») return true;",
        "false",
    ),
    Mutant(
        "beside others an hour begins",
        "storage",
        "if («queue_to_json(old) != queue_to_json(changed)») return std::nullopt;",
        "false",
    ),
    Mutant(
        "the deltas of a queue are not added up",
        "storage",
        "unfolded_.push_back(«with_deltas(queue_of_json(row.text(0)), row.text(2))»);",
        "queue_of_json(row.text(0))",
    ),
    Mutant(
        "the deltas of a queue are added up and stay",
        "storage",
        "«if (!unfolded_.empty()) send(PostgresQuery::delete_deltas);»",
        "",
        statement=True,
    ),
    Mutant(
        "the deltas of queues that an exclusive transaction does not change are lost",
        "storage",
        "if («std::ranges::any_of(changes.queues, is_its)») continue;",
        "true",
    ),
    Mutant(
        "a queue is read without its deltas",
        "storage",
        "const QueueRef queue = «with_deltas(queue_of_json(found.text(0)), found.is_null(2) ? std::string() : found.text(2))»;",
        "queue_of_json(found.text(0))",
    ),
    Mutant(
        "the list of all queues is without their deltas",
        "storage",
        "all.push_back(«with_deltas(queue_of_json(row.text(0)), row.is_null(2) ? std::string() : row.text(2))»);",
        "queue_of_json(row.text(0))",
    ),
    Mutant(
        "a process is alone twice to add up the deltas",
        "storage",
        "«if (!claims_.empty() || own_claimed_ == 0) wants_fold_ = false;»",
        "",
        statement=True,
    ),
    Mutant("deltas of queues are never added up", "storage", "«wants_fold_ = true;»", "", statement=True),
    Mutant(
        "numbers that a transaction has taken in vain are lost",
        "storage",
        "last_number_ - numbers_taken_ - «unused_numbers()»",
        "0",
    ),
    Mutant(
        "a job without an id takes the number of another process",
        "storage",
        "return jobs_made_ + («numbers_[handed_++] - numbers_taken_»);",
        "(handed_++, 1)",
    ),
    Mutant(
        "a batch of which all or none run is half done beside others",
        "storage",
        "if («atomicity == Atomicity::all_or_nothing && !copy.replies.back().ok()») return false;",
        "false",
    ),
    Mutant(
        "alone a claim begins at a mark that was lowered meanwhile",
        "storage",
        "if («std::pair(mark.major, mark.minor) < asked->second.from») {",
        "false",
    ),
    Mutant(
        "a claim sees no jobs after those that it has read while it began",
        "storage",
        "if («found.size() < range.limit && !jobs.all») return std::nullopt;",
        "false",
    ),
    Mutant(
        "marks of scans stay, however many jobs are claimed beside others",
        "storage",
        "if (!deltas_.empty() && (many_commits || «many_jobs»)) wants_fold_ = true;",
        "false",
    ),
]
