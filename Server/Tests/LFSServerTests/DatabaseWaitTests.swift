import Foundation
import LFSSyncServer
import Logging
import Synchronization
import Testing

@testable import lfs_server

@Suite("The wait for a database at the start", .timeLimit(.minutes(10)))
struct DatabaseWaitTests {
    private let clock = JumpingClock()
    private let lines = LogLines()

    private func wait(_ limit: Duration) -> DatabaseWait {
        DatabaseWait(limit: limit, logger: Logger(label: "test") { _ in lines }, clock: clock)
    }

    @Test(arguments: [SQLFailure.Code.unavailable, .busy, .timeout])
    func `The server waits for a database that becomes ready, and logs it`(_ code: SQLFailure.Code) async throws {
        var count = 0
        let value = try await wait(.seconds(60)).opening {
            count += 1
            guard count > 20 else { throw SQLFailure(code, message: "away") }
            return count
        }
        #expect(value == 21)
        let messages = lines.all.withLock { $0 }
        #expect(messages.count == 2 && messages.allSatisfy { $0.metadata["error"] == "away" }, "\(messages)")
    }

    @Test func `The wait ends at its limit with the cause and advice`() async throws {
        let error = await #expect(throws: DatabaseWait.Failure.self) {
            try await wait(.seconds(60)).opening { throw SQLFailure(.unavailable, message: "Connection refused.") }
        }
        #expect(clock.now.offset <= .seconds(60) && clock.now.offset > .seconds(58))
        let text = try #require(error?.description)
        #expect(text.contains("Connection refused. ") && text.contains("--wait-for-database"), "\(text)")
    }

    @Test func `No attempt starts that could end after the limit`() async throws {
        await #expect(throws: DatabaseWait.Failure.self) {
            try await wait(.seconds(25)).opening {
                clock.advance(by: .seconds(10))
                throw SQLFailure(.unavailable, message: "A connection took too long.")
            }
        }
        #expect(clock.now.offset < .seconds(25))
    }

    @Test func `A database that can never be used ends the start at once`() async throws {
        let error = await #expect(throws: SQLFailure.self) {
            try await wait(.seconds(60)).opening { throw SQLFailure(.unusable, message: "no") }
        }
        #expect(error?.code == .unusable && clock.now.offset == .zero)
    }

    @Test func `A start without a database exits with 1 at the limit`() throws {
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(filePath: ServerProcess.program)
        process.arguments = [
            "serve", "--database", "postgres://nobody@127.0.0.1:1/none", "--listen", "127.0.0.1:0",
            "--wait-for-database", "500ms", "--url", "http://127.0.0.1/lfs",
        ]
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.start()
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
        #expect(text.contains("The database was not ready"), "\(text)")
    }
}
