import Foundation

/// What commands print.
enum Console {
    /// A line on standard output, at once: another program may wait for it.
    static func print(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
