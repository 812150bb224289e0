import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

@Suite("A manager in a service group", .timeLimit(.minutes(10)))
struct SignalTests {
    private static let files = 6

    @Test("SIGTERM finishes running uploads, starts no other, and exits with 0")
    func finishes() async throws {
        try await signal("finish", uploaded: 2)
    }

    @Test("SIGTERM returns late uploads to the queue, and the process exits with 0")
    func givesBack() async throws {
        try await signal("hold", uploaded: 0)
    }

    /// Ends the service by a signal while its uploads run, and shows afterwards that the next start uploads all of it.
    private func signal(_ mode: String, uploaded: Int) async throws {
        try await withFolder { folder in
            let service = try ServiceProcess([folder.url.path, "\(Self.files)", mode])
            try service.waitForLine("uploading")
            kill(service.process.processIdentifier, SIGTERM)
            try await service.waitForExit()
            #expect(service.process.terminationReason == .exit)
            #expect(service.process.terminationStatus == 0)
            #expect(try service.rest() == "ended\n")
            #expect(try folder.count("status = 'remote'") == uploaded)
            #expect(try folder.count("status = 'local'") == Self.files - uploaded)
            try await uploadRest(folder)
        }
    }

    private func uploadRest(_ folder: Folder) async throws {
        let remote = folder.url.appendingPathComponent("remote")
        let database = try folder.openDatabase()
        let lfs = try await LFSManager.open(database, options: LFSOptions(storage: try DirectoryStorage(at: remote)))
        try lfs.start()
        let summary = try await lfs.waitForUploads()
        try await lfs.stop()
        #expect(summary.failed == 0)
        let files = try await database.read { try FileData.order(FileData.Columns.byteCount).fetchAll($0) }
        #expect(files.count == Self.files)
        for (number, file) in files.enumerated() {
            #expect(file.status == .remote)
            let object = try Data(contentsOf: remote.appendingPathComponent(file.key))
            #expect(object == Data(repeating: UInt8(number), count: 10_000 + number))
        }
        try database.close()
    }
}

/// The built service, run as an init system runs it.
private struct ServiceProcess {
    let process = Process()
    private let output = Pipe()

    init(_ arguments: [String]) throws {
        // Beside the test bundle, where the package manager builds both.
        process.executableURL = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
            .deletingLastPathComponent().appendingPathComponent("signalled-service")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
    }

    func waitForLine(_ line: String) throws {
        var read = Data()
        while read != Data("\(line)\n".utf8) {
            let byte = try output.fileHandleForReading.read(upToCount: 1)
            read += try #require(byte, "It ended before it said '\(line)'.")
        }
    }

    /// Kills it when the signal before does not end it, so that the test fails and does not hang.
    func waitForExit() async throws {
        let deadline = ContinuousClock.now + .seconds(600)
        while process.isRunning, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(20)) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    func rest() throws -> String {
        String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }
}
