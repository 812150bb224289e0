import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Logging
import ServiceLifecycle
import UnixSignals

/// A service group with a manager in it, which a test ends by a signal while its uploads stand at a gate.
///
/// `signalled-service FOLDER FILES finish|hold`: with `finish` the gate opens once the manager was asked to stop, with
/// `hold` it never does. It prints `uploading` when all executors are at the gate, and `ended` at its end.
@main
enum SignalledService {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let folder = URL(fileURLWithPath: arguments[1])
        let (count, opensGate) = (Int(arguments[2]) ?? 0, arguments[3] == "finish")
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        let database = try DatabasePool(path: folder.appendingPathComponent("a.sqlite").path)
        try migrator.migrate(database)

        let gate = GatedStorage(try DirectoryStorage(at: folder.appendingPathComponent("remote")))
        var options = LFSOptions(storage: gate, maxExecutors: 2)
        options.pollInterval = .milliseconds(10)
        options.shutdownTimeout = opensGate ? .seconds(600) : .milliseconds(100)
        let lfs = try await LFSManager.open(database, options: options)
        for number in 0..<count {
            let file = try await lfs.makeFile(from: .bytes(Data(repeating: UInt8(number), count: 10_000 + number)))
            try await database.write { db in try file.insert(db) }
        }

        let group = ServiceGroup(services: [lfs], gracefulShutdownSignals: [.sigterm], logger: Logger(label: "test"))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                await gate.waitForArrivals(2)
                print("uploading")
                fflush(nil)
                do {
                    try await lfs.waitForUploads()
                } catch let error as LFSError where error.code == .notRunning {
                    // The signal has come through to the manager.
                    if opensGate { gate.open() }
                }
            }
            try await tasks.waitForAll()
        }
        try database.close()
        print("ended")
    }
}
