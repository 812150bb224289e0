import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import LFSTransfer
import Synchronization
import TestSupport
import Testing

@testable import LFS

@Suite("Background runner", .timeLimit(.minutes(10)))
struct RunnerTests {
    @Test("Writes that arrive while the writer is busy are committed together")
    func grouped() async throws {
        try await withHost { host in
            let runner = BackgroundRunner(host.database)
            let commits = CommitCounter()
            host.database.add(transactionObserver: commits)
            let (isBusy, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            host.database.asyncWriteWithoutTransaction { _ in
                isBusy.signal()
                goOn.wait()
            }
            isBusy.wait()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        try await runner.write { try Recipe(title: "\(number)").insert($0) }
                    }
                }
                try await yield(while: runner.pendingCount < 20)
                goOn.signal()
                try await group.waitForAll()
            }
            #expect(commits.count == 1)
            #expect(try host.count("recipe") == 20)
        }
    }

    @Test("Only the faulty one of several writes in a transaction fails")
    func oneAtFault() async throws {
        try await withHost { host in
            let runner = BackgroundRunner(host.database)
            let (isBusy, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            host.database.asyncWriteWithoutTransaction { _ in
                isBusy.signal()
                goOn.wait()
            }
            isBusy.wait()
            let failures = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<10 {
                    group.addTask {
                        do {
                            try await runner.write { db in
                                try Recipe(title: "\(number)").insert(db)
                                if number == 3 { throw DatabaseError(resultCode: .SQLITE_CONSTRAINT) }
                            }
                            return false
                        } catch {
                            return true
                        }
                    }
                }
                try await yield(while: runner.pendingCount < 10)
                goOn.signal()
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(failures == 1)
            try #expect(host.count("recipe") == 9)
            try #expect(host.count("recipe WHERE title = '3'") == 0)
        }
    }

    @Test("A read returns its connection while all of Swift's threads wait for one")
    func readers() async throws {
        try await withTemporaryFolder { folder in
            var configuration = Configuration()
            configuration.maximumReaderCount = 1
            let path = folder.appendingPathComponent("recipes.sqlite").path
            let database = try DatabasePool(path: path, configuration: configuration)
            let runner = BackgroundRunner(database)
            let (isReading, goOn) = (Latch(), DispatchSemaphore(value: 0))
            let processors = ProcessInfo.processInfo.activeProcessorCount
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await runner.read { _ in
                        isReading.open()
                        for _ in 0..<processors { goOn.wait() }
                    }
                }
                await isReading.wait()
                for number in 0..<4 * processors {
                    group.addTask {
                        if number < processors { goOn.signal() }
                        try block(database)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A durable write uses full sync and restores the app's setting")
    func durable() async throws {
        try await withHost { host in
            let runner = BackgroundRunner(host.database)
            let pragma: @Sendable (Database) throws -> Int? = { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
            try await #expect(host.database.writeWithoutTransaction(pragma) == 1)
            try await #expect(runner.writeDurably(pragma) == 2)
            try await #expect(host.database.writeWithoutTransaction(pragma) == 1)
            await #expect(throws: DatabaseError.self) {
                try await runner.writeDurably { _ in throw DatabaseError(resultCode: .SQLITE_IOERR) }
            }
            try await #expect(host.database.writeWithoutTransaction(pragma) == 1)
        }
    }

    @Test("A durable write flushes the drive of a Mac and restores the app's setting", arguments: [0, 1])
    func fullFlush(setting: Int) async throws {
        try await withHost { host in
            let runner = BackgroundRunner(host.database)
            let pragma: @Sendable (Database) throws -> Int? = { try Int.fetchOne($0, sql: "PRAGMA fullfsync") }
            try await host.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA fullfsync = \(setting)") }
            try await #expect(runner.writeDurably(pragma) == 1)
            try await #expect(host.database.writeWithoutTransaction(pragma) == setting)
            await #expect(throws: DatabaseError.self) {
                try await runner.writeDurably { _ in throw DatabaseError(resultCode: .SQLITE_IOERR) }
            }
            try await #expect(host.database.writeWithoutTransaction(pragma) == setting)
        }
    }
}

/// Reads like an app that blocks a thread.
private func block(_ database: DatabasePool) throws { try database.read { try $0.execute(sql: "SELECT 1") } }

/// An observer that counts commits. The mutex owns the count.
private final class CommitCounter: TransactionObserver, Sendable {
    private let commits = Mutex(0)
    var count: Int { commits.withLock { $0 } }
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { commits.withLock { $0 += 1 } }
    func databaseDidRollback(_ db: Database) {}
}
