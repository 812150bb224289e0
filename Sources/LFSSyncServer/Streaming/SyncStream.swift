import LFSWire
import Logging

/// The lines of one stream, in pieces of some pages. Each piece is read when it is asked for, so a device that reads
/// slowly holds one of them, and neither a connection of the database nor a state of it.
///
/// One that stays open waits after its end for what commits next, and sends that and another end.
public struct SyncStream: AsyncSequence, Sendable {
    let source: Source
    let plan: StreamPlan

    /// Where lines come from.
    struct Source: Sendable {
        let database: any SQLDatabase
        let session: SyncSession
        let ticket: OpenStreams.Ticket
        let logger: Logger
        /// nil for a stream that ends with what there is.
        let live: LiveTimes?
        /// Finds out what there is to send besides what was sent, and the session as it is then; nil when that has
        /// ended, or begins anew.
        let planned: @Sendable (StreamPlan.Sent) async throws -> (SyncSession, StreamPlan)?
    }

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let source: Source
        private var session: SyncSession
        private var plan: StreamPlan
        /// What was sent up to where, since the device may not have said so yet.
        private var sent = StreamPlan.Sent()
        private var leg = 0
        private var position: SyncPosition?
        /// Of the next page of the leg.
        private var rowLimit = PageReader.firstRowLimit
        private var hasBegun = false
        private var isComplete = false
        private var hasEnded = false
        private let latest: Duration?
        private let elapsed: @Sendable () -> Duration

        init(_ stream: SyncStream) {
            (source, plan) = (stream.source, stream.plan)
            session = stream.source.session
            latest = source.live?.longest
            elapsed = (source.live?.clock ?? ContinuousClock()).stopwatch()
        }

        private var lines: ControlLines { ControlLines(session: session) }

        /// - Throws: `CancellationError`. What fails otherwise is the stream's last line.
        public mutating func next() async throws -> [UInt8]? {
            if hasEnded { return nil }
            var piece: [UInt8] = []
            do {
                if isComplete { try await goOn(&piece) }
                if hasEnded { return piece }
                if !isComplete { try await addPages(to: &piece) }
            } catch is CancellationError {
                throw CancellationError()
            } catch let early as StreamEnd {
                end(early.failure, &piece)
            } catch {
                source.logger.error("A stream has failed.", metadata: ["error": "\(error)"])
                end(SyncStreamFailure(error), &piece)
            }
            return piece
        }

        private mutating func end(_ failure: SyncStreamFailure, _ piece: inout [UInt8]) {
            hasEnded = true
            lines.failure(failure, to: &piece)
        }

        private mutating func addPages(to piece: inout [UInt8]) async throws {
            if !hasBegun {
                hasBegun = true
                for leg in plan.legs { sent.lost.remove(leg.place.scope) }
                for scope in plan.lost {
                    sent.drop(scope)
                    lines.scopeDeleted(scope, to: &piece)
                }
                for (place, reason) in plan.expired {
                    sent.expired.insert(place)
                    lines.reset(reason, place, to: &piece)
                }
            }
            if let failure = ended() { return end(failure, &piece) }
            while leg < plan.legs.count, piece.count < 64 << 10 {
                if let failure = ended() { return end(failure, &piece) }
                try await addPage(to: &piece)
            }
            guard leg == plan.legs.count else { return }
            lines.complete(plan.scopeCount, to: &piece)
            isComplete = true
            hasEnded = source.live == nil
        }

        private func ended() -> SyncStreamFailure? {
            switch source.ticket.end {
            case .replaced:
                SyncStreamFailure("replaced", "Another stream of this session has begun.", isRetryable: false)
            case .stopped:
                SyncStreamFailure("shutting_down", "The server is ending.", isRetryable: true, retryAfter: 5)
            case nil: nil
            }
        }

        private mutating func addPage(to piece: inout [UInt8]) async throws {
            try Task.checkCancellation()
            let current = plan.legs[leg]
            let after = position ?? current.start
            let reader = PageReader(dialect: source.database.dialect, session: session)
            let page = try await source.database.read { [rowLimit] in
                try reader.page(of: current, after: after, rowLimit: rowLimit, $0)
            }
            rowLimit = page.nextRowLimit
            if piece.isEmpty { piece = page.lines } else { piece += page.lines }
            position = page.position
            if let failure = page.failure { throw StreamEnd(failure: failure) }
            guard !page.mayHaveMore else { return }
            if page.isGranted {
                lines.reached(current, to: &piece)
                sent.positions[current.place] = current.end
            }
            begin(leg + 1)
        }

        private mutating func begin(_ leg: Int) {
            (self.leg, position, rowLimit) = (leg, nil, PageReader.firstRowLimit)
        }

        // MARK: Live

        /// Waits until there is something to send: lines of a new plan, a sign of life, or the end.
        private mutating func goOn(_ piece: inout [UInt8]) async throws {
            guard let live = source.live, let latest else { return }
            let silentUntil = elapsed() + live.heartbeat
            while true {
                if let failure = ended() { return end(failure, &piece) }
                let now = elapsed()
                if now >= latest {
                    hasEnded = true
                    return lines.complete(plan.scopeCount, to: &piece)
                }
                let isSilent = now >= silentUntil
                guard let (session, new) = try await source.planned(sent) else {
                    return end(
                        SyncStreamFailure("unauthorized", "The session has ended or begins anew.", isRetryable: true),
                        &piece)
                }
                if !new.isEmpty {
                    (self.session, plan) = (session, new)
                    begin(0)
                    (hasBegun, isComplete) = (false, false)
                    return
                }
                if isSilent { return lines.heartbeat(to: &piece) }
                let rest = Swift.min(silentUntil, latest) - now
                await source.ticket.wait(atMost: rest, clock: live.clock)
                try Task.checkCancellation()
            }
        }
    }
}

extension Clock where Duration == Swift.Duration {
    /// Tells the time since now.
    fileprivate func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
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

    func heartbeat(to bytes: inout [UInt8]) { write("{\"type\":\"\(SyncLine.Name.heartbeat)\"}", to: &bytes) }

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
