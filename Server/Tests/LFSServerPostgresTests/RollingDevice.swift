import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// The confirmed pushes of all devices, and the end of the trial.
actor TrialProgress {
    private var pushCount = 0
    private var writerCount: Int
    private(set) var isOver = false
    private var pushWaits: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    private var endWaits: [CheckedContinuation<Void, Never>] = []

    init(writerCount: Int) { self.writerCount = writerCount }

    func addPush() {
        pushCount += 1
        resume { $0.count <= pushCount }
    }

    /// Waits until the devices have pushed a number of times from now on, or until the end of the trial.
    func awaitPushes(_ number: Int) async {
        guard !isOver else { return }
        await withCheckedContinuation { pushWaits.append((pushCount + number, $0)) }
    }

    func end() {
        isOver = true
        resume { _ in true }
    }

    /// Waits until no device pushes any more.
    func endWriting() async {
        writerCount -= 1
        guard writerCount > 0 else {
            for continuation in endWaits { continuation.resume() }
            endWaits = []
            return
        }
        await withCheckedContinuation { endWaits.append($0) }
    }

    private func resume(_ isDue: ((count: Int, continuation: CheckedContinuation<Void, Never>)) -> Bool) {
        let due = pushWaits.filter(isDue)
        pushWaits.removeAll(where: isDue)
        for wait in due { wait.continuation.resume() }
    }
}

/// A device that pushes and reads all the time. It repeats a request that a stopped server has not answered.
final class RollingDevice {
    /// The device at the end of the trial.
    struct Outcome: Sendable {
        let account: Int
        /// The titles of the rows that the device has pushed last, by their keys.
        let pushed: [String: String]
        /// The titles of all rows that streams have brought.
        let read: [String: String]
        let sequence: Int64
        let repeatCount: Int
        /// The answers that no server may give.
        let faults: [String]
    }

    private let group: ServerGroup
    private let account: Int
    private let name: String
    private let token: String
    private var sequence: Int64 = 0
    private var batch: Int64 = 0
    private var repeatCount = 0
    private var pushed: [String: String] = [:]
    private var read: [String: String] = [:]
    /// The newest title of each row that has arrived, also of deleted ones. The titles of a row are ascending numbers.
    private var newest: [String: Int] = [:]
    private var faults: [String] = []

    init(_ group: ServerGroup, account: Int, name: String, token: String) {
        self.group = group
        self.account = account
        self.name = name
        self.token = token
    }

    /// Pushes and reads until the end of the trial, and then reads what the other devices have pushed.
    func run(_ progress: TrialProgress) async -> Outcome {
        do {
            var number = 0
            while await !progress.isOver {
                number += 1
                let key = "\(name)-\(number % 8)"
                if number % 10 == 9 {
                    try await push(.delete, key: key, number: number)
                } else {
                    try await push(.put, key: key, number: number)
                }
                await progress.addPush()
                if number % 3 == 0 { try await sync() }
            }
        } catch {
            faults.append("\(error)")
            await progress.end()
        }
        await progress.endWriting()
        do {
            try await sync()
        } catch {
            faults.append("\(error)")
        }
        return Outcome(
            account: account, pushed: pushed, read: read, sequence: sequence, repeatCount: repeatCount, faults: faults)
    }

    /// Sends a request until a server answers it.
    ///
    /// - Returns: the body of the reply.
    private func send(
        status: Int, _ request: (SyncService) async throws -> SyncReply
    ) async throws -> [UInt8] {
        while true {
            try Task.checkCancellation()
            let server = try group.next()
            let reply = try await request(server.service)
            let body = try await TestDevice.bytes(reply)
            // A stopped server answers with `unavailable`.
            if server.isKilled || reply.status == 503 {
                repeatCount += 1
                continue
            }
            guard reply.status == status else {
                throw WireFailure(.serverError, message: "\(reply.status): \(String(decoding: body, as: UTF8.self))")
            }
            return body
        }
    }

    private func push(_ operation: SyncMutation.Operation, key: String, number: Int) async throws {
        sequence += 1
        let row = operation == .delete ? SyncRow() : SyncRow(["title": .text("\(number)")])
        let mutation = SyncMutation(
            id: "m\(sequence)", sequence: sequence, type: try #require(SyncType("RecipeV1")), operation: operation,
            key: key, row: row)
        var bytes: [UInt8] = []
        mutation.write(to: &bytes)
        let data = Data(bytes)
        let body = try await send(status: 200) { [token] in await $0.push(data, token: token) }
        var splitter = LineSplitter()
        body.withUnsafeBytes { splitter.append($0) }
        var results: [SyncMutationResult] = []
        while try splitter.next({ results.append(try SyncMutationResult($0)) }) {}
        guard results.count == 1, results[0].sequence == sequence, results[0].outcome.isApplied else {
            throw WireFailure(.serverError, message: "A push was not applied: \(results)")
        }
        pushed[key] = operation == .delete ? nil : "\(number)"
    }

    /// Reads a stream to its end, and acknowledges it.
    private func sync() async throws {
        let type = try #require(SyncType("RecipeV1"))
        let request = try WireFormat.encode(SyncStreamRequest(types: [[type]]))
        while true {
            let body = try await send(status: 200) { [token] in await $0.stream(request, token: token) }
            let lines = try body.split(separator: UInt8(ascii: "\n")).map { try Self.line(Array($0)) }
            guard let last = lines.last, case .complete = last else {
                guard case .failure(let failure)? = lines.last, failure.isRetryable else {
                    throw WireFailure(.serverError, message: "A stream has ended without reason: \(lines.suffix(3))")
                }
                repeatCount += 1
                continue
            }
            var tokens: [SyncToken.Place: SyncToken] = [:]
            for line in lines { if let token = try apply(line) { tokens[token.place] = token } }
            return try await acknowledge(Array(tokens.values))
        }
    }

    private static func line(_ bytes: [UInt8]) throws -> SyncLine {
        let fields = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        let scope = (fields?["ack"] as? String).flatMap { SyncToken($0) }?.place.scope
        return try bytes.withUnsafeBytes { try SyncLine($0, own: scope) }
    }

    /// - Returns: the token of the line, if it has one.
    private func apply(_ line: SyncLine) throws -> SyncToken? {
        switch line {
        case .row(let row, let token):
            let key = try #require(row.text("id"))
            let title = try #require(row.text("title"))
            let number = try #require(Int(title))
            if let before = newest[key], number < before {
                faults.append("Row \(key) was put back from \(before) to \(number).")
            }
            newest[key] = number
            read[key] = title
            return token
        case .deletion(let key, let token):
            read[key] = nil
            return token
        case .reached(let token, _), .complete(let token, _): return token
        case .heartbeat: return nil
        case .scopeDeleted, .reset, .failure, .unknown:
            faults.append("The device got an unexpected line: \(line)")
            return nil
        }
    }

    private func acknowledge(_ tokens: [SyncToken]) async throws {
        batch += 1
        let body = try WireFormat.encode(SyncAckBatch(number: batch, id: "\(name) \(batch)", tokens: tokens))
        _ = try await send(status: 204) { [token] in await $0.acknowledge(body, token: token) }
    }
}
