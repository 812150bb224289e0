import LFSWire
import Logging

/// The lines of one stream, in pieces of some pages. Each piece is read when it is asked for, so a device that reads
/// slowly holds one of them, and neither a connection of the database nor a state of it.
public struct SyncStream: AsyncSequence, Sendable {
    let database: any SQLDatabase
    let session: SyncSession
    let plan: StreamPlan
    let logger: Logger

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let stream: SyncStream
        private let lines: ControlLines
        private var leg = 0
        private var position: SyncPosition?
        private var hasBegun = false
        private var hasEnded = false

        init(_ stream: SyncStream) {
            self.stream = stream
            lines = ControlLines(session: stream.session)
        }

        /// - Throws: `CancellationError`. What fails otherwise is the stream's last line.
        public mutating func next() async throws -> [UInt8]? {
            if hasEnded { return nil }
            var piece: [UInt8] = []
            if !hasBegun {
                hasBegun = true
                for scope in stream.plan.lost { lines.scopeDeleted(scope, to: &piece) }
                for (place, reason) in stream.plan.expired { lines.reset(reason, place, to: &piece) }
            }
            do {
                while leg < stream.plan.legs.count, piece.count < 64 << 10 { try await addPage(to: &piece) }
            } catch is CancellationError {
                throw CancellationError()
            } catch let end as StreamEnd {
                hasEnded = true
                lines.failure(end.failure, to: &piece)
                return piece
            } catch {
                hasEnded = true
                stream.logger.error("A stream has failed.", metadata: ["error": "\(error)"])
                lines.failure(SyncStreamFailure(error), to: &piece)
                return piece
            }
            if leg == stream.plan.legs.count {
                hasEnded = true
                lines.complete(stream.plan.scopeCount, to: &piece)
            }
            return piece
        }

        private mutating func addPage(to piece: inout [UInt8]) async throws {
            try Task.checkCancellation()
            let current = stream.plan.legs[leg]
            let after = position ?? current.start
            let reader = PageReader(dialect: stream.database.dialect, session: stream.session)
            let page = try await stream.database.read { try reader.page(of: current, after: after, $0) }
            piece += page.lines
            position = page.position
            if let failure = page.failure { throw StreamEnd(failure: failure) }
            guard !page.mayHaveMore else { return }
            if page.isGranted { lines.reached(current, to: &piece) }
            leg += 1
            position = nil
        }
    }
}

/// Why a stream ends before its time, though nothing has failed.
private struct StreamEnd: Error {
    let failure: SyncStreamFailure
}

/// Writes the lines that are about no row.
struct ControlLines: Sendable {
    let session: SyncSession

    func reached(_ leg: StreamPlan.Leg, to bytes: inout [UInt8]) {
        let token = SyncToken(leg.place, leg.end, epoch: session.epoch)
        let scope = leg.place.scope == session.own ? "" : "\"scope\":\"\(leg.place.scope)\","
        let data = leg.checkpoint == nil ? ",\"data\":{\"isFull\":true}" : ""
        write("{\"type\":\"\(SyncLine.Name.reached)\",\(scope)\"ack\":\"\(token)\"\(data)}", to: &bytes)
    }

    func complete(_ scopeCount: Int, to bytes: inout [UInt8]) {
        write(
            "{\"type\":\"\(SyncLine.Name.complete)\",\"ack\":\"\(token(SyncLine.Name.complete, session.own))\","
                + "\"data\":{\"scopes\":\(scopeCount)}}", to: &bytes)
    }

    func scopeDeleted(_ scope: SyncScope, to bytes: inout [UInt8]) {
        write(
            "{\"type\":\"\(SyncLine.Name.scopeDeleted)\",\"scope\":\"\(scope)\","
                + "\"ack\":\"\(token(SyncLine.Name.scopeDeleted, scope))\"}", to: &bytes)
    }

    /// - Parameter place: what the device begins anew; nil for all. An ack of all is awaited; of one place it says
    ///   nothing but that nothing has come yet.
    func reset(_ reason: SyncReset.Reason, _ place: SyncToken.Place?, to bytes: inout [UInt8]) {
        let token =
            place.map { "\(SyncToken($0, .start, epoch: session.epoch))" }
            ?? token(SyncLine.Name.reset, session.own)
        let only = place.map { ",\"types\":[\"\($0.type)\"],\"scopes\":[\"\($0.scope)\"]" } ?? ""
        write(
            "{\"type\":\"\(SyncLine.Name.reset)\",\"ack\":\"\(token)\","
                + "\"data\":{\"reason\":\"\(reason.rawValue)\"\(only)}}", to: &bytes)
    }

    func failure(_ failure: SyncStreamFailure, to bytes: inout [UInt8]) {
        bytes += "{\"type\":\"\(SyncLine.Name.failure)\",\"data\":{\"code\":\"\(failure.code)\",\"message\":".utf8
        SyncValue.write(failure.message, to: &bytes)
        bytes += ",\"isRetryable\":\(failure.isRetryable)".utf8
        if let seconds = failure.retryAfter { bytes += ",\"retryAfter\":\(seconds)".utf8 }
        bytes += "}}\n".utf8
    }

    private func token(_ name: String, _ scope: SyncScope) -> String { "\(name)|\(scope)||\(session.epoch)" }

    private func write(_ line: String, to bytes: inout [UInt8]) {
        bytes += line.utf8
        bytes.append(UInt8(ascii: "\n"))
    }
}

extension SyncStreamFailure {
    /// What a device is told: no statement, and no value of a row.
    init(_ error: any Error) {
        switch (error as? SQLFailure)?.code {
        case .busy, .timeout, .unavailable:
            self.init("unavailable", "The server's database did not answer in time.", isRetryable: true, retryAfter: 5)
        case .noSpace: self.init("no_space", "The server's disk is full.", isRetryable: true, retryAfter: 60)
        default:
            self.init("server_error", "The server has failed: its log says why.", isRetryable: true, retryAfter: 30)
        }
    }
}
