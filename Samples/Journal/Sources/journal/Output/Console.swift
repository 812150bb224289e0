import Foundation
import JournalStorage

/// What the command tells: results on the standard output, messages on the standard error.
enum Console {
    static func print(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    static func error(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }

    /// Names what is damaged.
    static func tell(_ damaged: [DamagedRecord]) {
        for finding in damaged { error("\(finding.name): \(finding.reason)") }
    }
}
