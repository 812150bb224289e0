import Foundation
import Testing

@Suite("Crashes", .timeLimit(.minutes(10)))
struct CoreDumpTests {
    private static let token = "canary-token-of-a-crash"
    /// Lets the command that follows write core files into its folder.
    private static let wrapper = ["/bin/sh", "-c", #"ulimit -c unlimited; exec "$0" "$@""#]

    /// Indicates that this machine writes a core file of a program that does not prevent it.
    private static let dumpsAreWritten: Bool = {
        do {
            var found: [String] = []
            try withFolder { folder in
                let process = Process()
                process.executableURL = URL(fileURLWithPath: wrapper[0])
                process.arguments = wrapper.dropFirst() + ["/bin/sh", "-c", "kill -SYS $$"]
                process.currentDirectoryURL = folder
                try process.start()
                process.waitUntilExit()
                found = try dumps(in: folder)
            }
            return !found.isEmpty
        } catch {
            fatalError("A shell cannot be run: \(error)")
        }
    }()

    private static func dumps(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("core") }
    }

    @Test("A crash leaves no core file, which would contain keys and tokens", .enabled(if: dumpsAreWritten))
    func noDump() throws {
        try withFolder(files: 1) { folder in
            let push = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "signed+http://127.0.0.1:1/lfs", "files"], in: folder,
                through: Self.wrapper, environment: ["LFS_TOKEN": Self.token])
            let database = folder.appendingPathComponent("a.sqlite").path
            while push.process.isRunning, !FileManager.default.fileExists(atPath: database) { sched_yield() }
            // This signal ends the process with a core file, and Swift's runtime does not catch it.
            kill(push.process.processIdentifier, SIGSYS)
            let result = try push.wait()
            #expect(result.status == 128 + SIGSYS, "\(result.messages)")
            #expect(try Self.dumps(in: folder).isEmpty)
        }
    }
}
