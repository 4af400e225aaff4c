"""Mutants of the storages, of group commit and of the codec."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "the row after a full statement is not written",
        "storage",
        "left = left.subspan(«part.size()»)",
        "std::min(left.size(), part.size() + (part.size() > 1 ? 1 : 0))",
    ),
    Mutant(
        "memory forgets to move a task to its new holder",
        "storage",
        "} else if («index < kFirstIndexOfJobs || is_job») {",
        "index != Index::holder && (index < kFirstIndexOfJobs || is_job)",
    ),
    Mutant(
        "a file forgets to move a task to its new holder",
        "storage",
        "const bool holder_moved = «moves<Index::holder>(before, after)»",
        "false",
    ),
    Mutant(
        "memory keeps the pair of an edge that was removed",
        "storage",
        "edges_.erase(edge); «edge_pairs_.erase(edge);»",
        "",
        statement=True,
    ),
    Mutant(
        "a message is leased to any holder",
        "storage",
        "if («!one.found || (one.found->holder != holder && one.found->leased_until > now)») continue;",
        "!one.found",
    ),
    Mutant(
        "a copy keeps the leases of the processes of its source",
        "storage",
        "renumbered(«unleased(message)», numbers_after)",
        "message",
    ),
    Mutant(
        "a file forgets that the first timer has moved",
        "storage",
        "for (const RowChange& change : changes.rows) { «if (const auto due = due_of(change.after)) after.due = std::min(after.due, *due);»",
        "",
        statement=True,
    ),
    Mutant("a row that was deleted stays in the cache", "storage", "else { «rows.erase(change.before->id());»", "", statement=True),
    Mutant(
        "a task of a reopened file is dispatched twice",
        "storage",
        "row->execute_waits = columns.boolean();",
        "(void)columns.boolean();",
        statement=True,
    ),
    Mutant(
        "a file counts messages that were removed",
        "storage",
        "integer(counters.jobs).integer(«messages»)",
        "messages + static_cast<std::int64_t>(changes.messages_removed.size())",
    ),
    Mutant(
        "the fourth migration forgets the timers of schedules",
        "storage",
        "run(«sqlite_migrations()[static_cast<std::size_t>(next)]»)",
        "[&] { std::string text = sqlite_migrations()[static_cast<std::size_t>(next)]; "
        'const auto at = text.find("UPDATE schedules"); '
        "if (at != std::string::npos) text.erase(at, text.find(';', at) - at); return text; }().c_str()",
    ),
    Mutant("the key of a batch is ambiguous", "storage", '"g" + std::to_string(type.size()) + ":"', 'std::string("g")'),
    Mutant(
        "a failed commit is reported to one caller alone",
        "storage",
        "«one->failure = failure;» if (one == ran)",
        "if (one == &first) one->failure = failure;",
        statement=True,
    ),
    Mutant(
        "the callers of one commit get the instant of the first",
        "storage",
        "«at = run_batch(*transaction, *ran, at, Atomicity::independent);»",
        "(void)run_batch(*transaction, *ran, at, Atomicity::independent);",
        statement=True,
    ),
    Mutant(
        "an undone batch moves the clock",
        "storage",
        "«undo(caller.replies, requests.size(), before)»",
        "(move_clock(at), undo(caller.replies, requests.size(), before))",
    ),
    Mutant("the last control character is not escaped", "codec", "default: if («byte < 0x20»)", "byte < 0x1f"),
    Mutant(
        "the second half of a pair of surrogates loses a bit",
        "codec",
        "0xDC00 + «((point - 0x10000) & 0x3FF)»",
        "((point - 0x10000) & 0x3FE)",
    ),
    Mutant("a backslash among eight plain bytes is not escaped", "codec", "zero_bytes(word ^ (kOnes * '\\\\'))", "0"),
    Mutant(
        "a longest UTF-8 sequence is cut off",
        "codec",
        "const std::size_t length = «lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2»",
        "lead > 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2",
    ),
    Mutant("base64 with bits left over is accepted", "codec", "if («(group & ((1u << bits) - 1)) != 0») return", "false"),
    Mutant("a path counts from 1", "codec", 'std::to_string(«path.index») + "]"', "path.index + 1"),
    Mutant(
        "a quotation is cut within a character",
        "codec",
        "while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;",
        "",
        statement=True,
    ),
    Mutant(
        "a task of 2025 shows the version of 2026",
        "codec",
        "Field::version, «shown_version(dialect(DialectId::k2025_01_15), row.task, row.acquisitions)»)",
        "row.acquisitions",
    ),
    Mutant("a high surrogate alone passes", "codec", "if («is_high(unit) && is_low(unit_at(text, at + 6))»)", "is_high(unit)"),
    Mutant("an integer above int64 is 0", "codec", "element_type::UINT64: return «NodeType::big_integer»", "NodeType::integer"),
    Mutant("of a name that comes twice the first counts", "codec", "a.key == b.key ? «a.place < b.place»", "a.place > b.place"),
    Mutant("the greatest number allowed is refused", "codec", "value < rules.least || «value > rules.most»", "value >= rules.most"),
]
