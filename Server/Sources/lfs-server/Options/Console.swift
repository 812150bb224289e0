import Foundation

/// The output of commands.
enum Console {
    /// True if the standard output is a terminal. Scripts get no headers.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Prints a line on the standard output immediately, because another program may wait for it.
    ///
    /// If the write fails, the process ends. The status is 141 if the reader has closed the pipe, as after a signal.
    /// Otherwise it is 1, with a message.
    static func print(_ line: String) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            // As in 'lfs-server schema print | head', where the reader stops early.
            if cause?.code == Int(EPIPE) { exit(141) }
            message("lfs-server: The results cannot be written: \((cause ?? error as NSError).localizedDescription)")
            exit(1)
        }
    }

    /// Returns the lines of a table. A person reads columns of equal width below a header. Scripts get neither.
    static func lines(of rows: [[String]], header: [String], forPerson: Bool = isTerminal) -> [String] {
        guard forPerson else { return rows.map { $0.joined(separator: "  ") } }
        let all = [header] + rows
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let padded = zip(row, widths).dropLast().map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }
            return (padded + row.suffix(1)).joined(separator: "  ")
        }
    }

    /// Prints a value as a line of JSON on the standard output.
    static func print(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        print(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Prints a line on the standard error.
    static func message(_ line: String) {
        // An error of this write cannot be reported.
        try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
    }
}
