import Foundation

/// The two streams of the process: results on the standard output, messages on the standard error.
enum Console {
    static func result(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    static func message(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
