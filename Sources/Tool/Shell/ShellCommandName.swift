/// The commands of the shell that begin with a dot and end with their line.
enum ShellCommandName: String, CaseIterable {
    case help, quit, exit, schema, mode, limit, timer, pager, param, output, read, watch
    // Commands of the program, on the file that is open.
    case info, stats, `import`, export, insert, update, delete, diff, verify, copy, space, readers, salvage, migrate

    var isOfProgram: Bool {
        switch self {
        case .info, .stats, .import, .export, .insert, .update, .delete, .diff, .verify, .copy, .space, .readers,
            .salvage, .migrate:
            true
        default: false
        }
    }

    static let summary = """
        Statements end with a semicolon and may have several lines:
          select name, friend.city from Person where age > 30 SORT(name ASC) LIMIT(10);
          select count(*) from Person;     also sum, avg, min and max of a property
          Person age > 30;                 the same as select * from Person where age > 30
          count Person age > 30;
          explain Person age > 30;         how it would be found; explain analyze Person ... runs it
          insert into Person {"name": "Ada", "age": 36};
          update Person set age = 37, name = "Ada L." where id == 7;
          delete from Person where age < 0;
          begin;  commit;  rollback;       several statements as one transaction
        Commands:
          .schema [CLASS]         the classes, or one of them
          .mode FORMAT            table, box, markdown, json, jsonl or csv
          .limit N                print at most N rows; 0: all
          .timer on|off           say how long each statement took
          .param NAME VALUE       the value of $NAME in queries: 12, Ada, timestamp:2013-01-01T10:00:00Z
          .pager on|off|COMMAND   how long output is shown
          .output [FILE]          where output goes; without a file, back to the terminal
          .read FILE              the statements of a file
          .watch CLASS [QUERY]    what changes, until Ctrl-C
          .import CLASS FILE      and .export, .stats, .info, .insert, .update, .delete, .diff, .verify, .copy, .space,
                                  .readers, .salvage, .migrate: commands of motte on this file, with their options
          .quit                   as does Ctrl-D
        Tab completes classes, properties and words; Ctrl-R searches what was typed before.
        """
}
