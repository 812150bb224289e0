#if os(Linux)
import Foundation
import Testing

/// Faults of the original at each call of a push that opens, examines or reads it: before the attachment, between its
/// pieces, before the upload, between the pieces of the upload, and before the confirmation.
@Suite("Faults of pushed files in their places", .timeLimit(.minutes(10)))
struct InPlaceFaultTests {
    /// The kind of system call at which a fault happens.
    enum Call: String, CaseIterable { case open, read, status }

    /// A change by another program, as a shell command.
    enum Change: String, CaseIterable {
        case otherBytes = "dd if=other of=files/0.bin conv=notrunc status=none"
        case otherBytesInSecret =
            "touch -r files/0.bin time; dd if=other of=files/0.bin conv=notrunc status=none; touch -r time files/0.bin"
        case truncated = "truncate -s 10 files/0.bin"
        case replaced = "cp other new; mv new files/0.bin"
        case link = "ln -sf ../other files/0.bin"
        case deleted = "rm -f files/0.bin"

        /// True if a regular file is at the path afterwards.
        var leavesFile: Bool { self != .link && self != .deleted }
    }

    /// An error of the system, by its number on Linux.
    enum Failure: Int, CaseIterable {
        /// The original was replaced on an NFS server (ESTALE).
        case staleHandle = 116
        case readError = 5
        case permissionDenied = 13
    }

    /// Several pieces, so that a change can happen between them.
    private static let byteCount = 600_000

    private func push(in folder: URL, faults: [String: String] = [:]) throws -> UploaderProcess.Result {
        var environment = faults
        if !faults.isEmpty {
            environment["LD_PRELOAD"] = try Faults.path.get()
            environment["LFS_FAULT_FILE"] = "0.bin"
        }
        return try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", "dir:remote", "files"], in: folder, environment: environment
        ).wait()
    }

    /// Pushes a file once for each call that the push makes for it, with a fault at that call.
    ///
    /// - Parameters:
    ///   - command: the command that runs before the call.
    ///   - body: checks the folder after the push.
    private func atEach(
        _ call: Call, command: String, failure: Failure? = nil, count: Int = 1,
        _ body: (_ folder: URL, _ run: UploaderProcess.Result, _ forms: [Data], _ point: String) throws -> Void
    ) throws {
        var number = 0
        var isReached = true
        while isReached {
            number += 1
            try withFolder(files: 1, byteCount: Self.byteCount) { folder in
                let original = try Data(contentsOf: folder.appendingPathComponent("files/0.bin"))
                let other = randomData(Self.byteCount)
                try other.write(to: folder.appendingPathComponent("other"))
                var faults = [
                    "LFS_FAULT_CALL": call.rawValue, "LFS_FAULT_FROM": "\(number)", "LFS_FAULT_COUNT": "\(count)",
                    "LFS_FAULT_COMMAND": "touch reached; \(command)",
                ]
                if let failure { faults["LFS_FAULT_ERRNO"] = "\(failure.rawValue)" }
                let run = try push(in: folder, faults: faults)
                isReached = FileManager.default.fileExists(atPath: folder.appendingPathComponent("reached").path)
                let point = "\(call) \(number): \(run.output)\(run.messages)"
                try body(folder, run, [original, other, original.prefix(10)], point)
            }
        }
        #expect(number > 2, "The push made too few calls to show anything.")
    }

    /// Checks that each object has bytes that the original had as a whole.
    private func checkObjects(in folder: URL, forms: [Data], point: String) throws {
        let remote = folder.appendingPathComponent("remote")
        guard FileManager.default.fileExists(atPath: remote.path) else { return }
        for path in try FileManager.default.subpathsOfDirectory(atPath: remote.path) where path.count == 69 {
            let object = try Data(contentsOf: remote.appendingPathComponent(path))
            #expect(forms.contains(object), "\(point)")
        }
    }

    /// Pushes again without faults, and checks that the storage has the present form of the file.
    private func checkNextPush(in folder: URL, point: String) throws {
        let next = try push(in: folder)
        #expect(next.status == 0, "\(point)\nthen \(next.output)\(next.messages)")
        let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
        #expect(entries.count == 1, "\(point)")
        for entry in entries {
            #expect(entry.status == "remote", "\(point)")
            let object = try Data(contentsOf: folder.appendingPathComponent("remote/\(entry.key)"))
            #expect(try object == Data(contentsOf: folder.appendingPathComponent("files/0.bin")), "\(point)")
        }
    }

    @Test(
        "A file that changes at any call is never stored with mixed bytes", arguments: Call.allCases, Change.allCases)
    func changed(at call: Call, by change: Change) throws {
        try atEach(call, command: change.rawValue) { folder, _, forms, point in
            try checkObjects(in: folder, forms: forms, point: point)
            if change.leavesFile { try checkNextPush(in: folder, point: point) }
            try checkObjects(in: folder, forms: forms, point: point)
        }
    }

    @Test("An error of the system at any call loses nothing", arguments: Call.allCases, Failure.allCases)
    func failing(at call: Call, with failure: Failure) throws {
        try atEach(call, command: "true", failure: failure, count: 2) { folder, run, forms, point in
            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            // Either the file was reported, or it is on the storage.
            #expect(run.status == 0 ? entries.map(\.status) == ["remote"] : !run.messages.isEmpty, "\(point)")
            try checkNextPush(in: folder, point: point)
            try checkObjects(in: folder, forms: forms, point: point)
        }
    }

    @Test("A kill at any call leaves a database that a resume completes", arguments: Call.allCases)
    func killed(at call: Call) throws {
        try atEach(call, command: "kill -9 $PPID") { folder, _, forms, point in
            if try TestDatabase.hasTable("uploader_document", in: folder.appendingPathComponent("a.sqlite")) {
                let resumed = try UploaderProcess.run(
                    "resume", "--database", "a.sqlite", "--to", "dir:remote", in: folder)
                #expect(resumed.status == 0, "\(point)\nthen \(resumed.output)\(resumed.messages)")
            }
            try checkNextPush(in: folder, point: point)
            try checkObjects(in: folder, forms: Array(forms.prefix(1)), point: point)
        }
    }
}
#endif
