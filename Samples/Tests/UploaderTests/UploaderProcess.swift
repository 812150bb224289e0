import Foundation
import Testing

/// The built command, run as a person runs it.
struct UploaderProcess {
    struct Result {
        var status: Int32
        var output: String
        var messages: String

        /// The lines of `--json`.
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

    /// The uploader, or another command with the uploader's path in place of `uploader`.
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
        // The hosts that a test names are no business of the person who runs it.
        let own = ["XDG_CONFIG_HOME": folder.appendingPathComponent(".config").path]
        process.environment = ProcessInfo.processInfo.environment.merging(own) { _, new in new }
            .merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: messages)
        try process.run()
    }

    func outputSoFar() throws -> String { String(decoding: try Data(contentsOf: output), as: UTF8.self) }

    func wait() throws -> Result {
        process.waitUntilExit()
        let status =
            process.terminationReason == .uncaughtSignal ? 128 + process.terminationStatus : process.terminationStatus
        return try result(status)
    }

    /// What it has told until now; its status is that of a process that goes on, 0.
    func resultSoFar() throws -> Result { try result(0) }

    private func result(_ status: Int32) throws -> Result {
        Result(
            status: status, output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
            messages: String(decoding: try Data(contentsOf: messages), as: UTF8.self))
    }

    static func run(_ arguments: String..., in folder: URL, through wrapper: [String] = []) throws -> Result {
        try UploaderProcess(arguments, in: folder, through: wrapper).wait()
    }

    /// Beside the test bundle, where the package manager builds both.
    private static let path = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("uploader").path
}

/// A folder of its own with files to push, removed afterwards.
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

/// Random bytes, read in one piece: a generator in a loop takes minutes for the large files in a debug build.
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

/// Runs a command of the system and returns whether it succeeded.
func system(_ command: String...) throws -> Bool { try system(command) }

/// The same with all words in one value.
@discardableResult
func system(_ command: [String]) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
}

let isRoot = getuid() == 0
