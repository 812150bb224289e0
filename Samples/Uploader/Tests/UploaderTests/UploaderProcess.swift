import Foundation
import Testing

/// The built command, run as a user runs it.
struct UploaderProcess {
    struct Result {
        var status: Int32
        var output: String
        var messages: String

        /// The objects that `--json` prints, one a line.
        var events: [[String: Any]] {
            output.split(separator: "\n").compactMap { line in
                let object = try? JSONSerialization.jsonObject(with: Data(line.utf8))
                return object as? [String: Any]
            }
        }

        var summary: [String: Any]? { events.last.flatMap { $0["event"] as? String == "summary" ? $0 : nil } }
    }

    let process = Process()
    private let folder: URL
    private let output: URL
    private let messages: URL

    /// Runs the uploader, or a wrapper command followed by the uploader's path.
    init(
        _ arguments: [String], in folder: URL, through wrapper: [String] = [], environment: [String: String] = [:]
    ) throws {
        self.folder = folder
        let name = UUID().uuidString
        output = folder.appendingPathComponent(".output-\(name)")
        messages = folder.appendingPathComponent(".messages-\(name)")
        for file in [output, messages] { try Data().write(to: file) }
        let command = wrapper + [Self.path] + arguments
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.currentDirectoryURL = folder
        // Hosts that a test names are not added to the user's own list.
        let own = ["XDG_CONFIG_HOME": folder.appendingPathComponent(".config").path]
        process.environment = ProcessInfo.processInfo.environment.merging(own) { _, new in new }
            .merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: messages)
        // A shell that runs the tests in the background makes them ignore SIGINT, and programs inherit that.
        signal(SIGINT, SIG_DFL)
        try process.start()
    }

    func outputSoFar() throws -> String { String(decoding: try Data(contentsOf: output), as: UTF8.self) }

    func wait() throws -> Result {
        process.waitUntilExit()
        let status =
            process.terminationReason == .uncaughtSignal ? 128 + process.terminationStatus : process.terminationStatus
        return try result(status)
    }

    /// Returns the output up to now. The status is 0 because the process still runs.
    func resultSoFar() throws -> Result { try result(0) }

    private func result(_ status: Int32) throws -> Result {
        Result(
            status: status, output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
            messages: String(decoding: try Data(contentsOf: messages), as: UTF8.self))
    }

    static func run(_ arguments: String..., in folder: URL, through wrapper: [String] = []) throws -> Result {
        try UploaderProcess(arguments, in: folder, through: wrapper).wait()
    }

    /// The package manager builds the command next to the test bundle.
    private static let path = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("uploader").path
}

/// Runs the body with a temporary folder that contains files to push.
func withFolder(files: Int = 0, byteCount: Int = 10_240, _ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("uploader-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
        at: folder.appendingPathComponent("files"), withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    for number in 0..<files {
        try randomData(byteCount).write(to: folder.appendingPathComponent("files/\(number).bin"))
    }
    try body(folder)
}

/// Returns random bytes. They are read in one call, because a generator in a loop takes minutes for large files in a
/// debug build.
func randomData(_ byteCount: Int) -> Data {
    var data = Data(count: byteCount)
    guard let source = fopen("/dev/urandom", "r") else {
        Issue.record("The system gives no random bytes.")
        return data
    }
    defer { fclose(source) }
    let count = data.withUnsafeMutableBytes { fread($0.baseAddress, 1, byteCount, source) }
    #expect(count == byteCount)
    return data
}

/// Runs a system command and returns true if it succeeded.
func system(_ command: String...) throws -> Bool { try system(command) }

/// Runs a system command that is given as one array.
@discardableResult
func system(_ command: [String]) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.start()
    process.waitUntilExit()
    return process.terminationStatus == 0
}

let isRoot = getuid() == 0
