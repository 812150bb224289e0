import LFSWire
import Logging

/// A sequence of the lines of a stream, in pieces of some pages. Each piece is read on demand. A device that reads
/// slowly therefore holds one piece in memory, but no connection to the database and no snapshot of it.
///
/// After its end, a stream that stays open waits for later commits, and sends them with another end.
public struct SyncStream: AsyncSequence, Sendable {
    let source: Source
    let plan: StreamPlan

    /// The source of the lines.
    struct Source: Sendable {
        let database: any SQLDatabase
        let session: SyncSession
        let ticket: OpenStream.Ticket
        let logger: Logger
        /// The times of a stream that stays open, or nil for a stream that ends.
        let live: LiveTimes?
        /// Returns the current session, and a plan for what was not sent yet. Nil if the session has ended or starts
        /// over.
        let planned: @Sendable (StreamPlan.Sent) async throws -> (SyncSession, StreamPlan)?
    }

    /// Ends the stream, because its client has closed the connection. The next piece is the last one.
    public func clientLeft() { source.ticket.end(.left) }

    /// Returns an iterator that reads the first piece on demand.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// An iterator over the pieces of a stream.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let source: Source
        private var session: SyncSession
        private var plan: StreamPlan
        /// The positions that were sent, because the device may not have acknowledged them yet.
        private var sent = StreamPlan.Sent()
        private var leg = 0
        private var position: SyncPosition?
        /// The row limit of the segment's next page.
        private var rowLimit = PageReader.firstRowLimit
        private var hasBegun = false
        private var isComplete = false
        private var hasEnded = false
        private let latest: Duration?
        private let elapsed: @Sendable () -> Duration

        init(_ stream: SyncStream) {
            source = stream.source
            plan = stream.plan
            session = stream.source.session
            latest = source.live?.longest
            elapsed = (source.live?.clock ?? ContinuousClock()).stopwatch()
        }

        private var lines: ControlLines { ControlLines(session: session) }

        /// Returns the next piece.
        ///
        /// - Throws: `CancellationError`. Any other failure becomes the stream's last line.
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
                end(early.failure, piece: &piece)
            } catch {
                source.logger.error("A stream has failed.", metadata: ["error": "\(error)"])
                end(SyncStreamFailure(error), piece: &piece)
            }
            return piece
        }

        private mutating func end(_ failure: SyncStreamFailure, piece: inout [UInt8]) {
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
                    lines.reset(reason, place: place, to: &piece)
                }
            }
            if let failure = ended() { return end(failure, piece: &piece) }
            while leg < plan.legs.count, piece.count < 64 << 10 {
                if let failure = ended() { return end(failure, piece: &piece) }
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
                // The delay keeps two processes of one device from ending each other's streams all the time.
                SyncStreamFailure(
                    "replaced", message: "Another stream of this session started.", isRetryable: true, retryAfter: 10)
            case .stopped:
                SyncStreamFailure("shutting_down", message: "The server is stopping.", isRetryable: true, retryAfter: 5)
            case .left:
                SyncStreamFailure("cut", message: "The client closed the connection.", isRetryable: true)
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
            self.leg = leg
            position = nil
            rowLimit = PageReader.firstRowLimit
        }

        // MARK: Live

        /// Waits until there is something to send: lines of a new plan, a heartbeat, or the end. Reads the database
        /// only if the account may have something new.
        private mutating func goOn(_ piece: inout [UInt8]) async throws {
            guard let live = source.live, let latest else { return }
            let silentUntil = elapsed() + live.heartbeat
            while true {
                if let failure = ended() { return end(failure, piece: &piece) }
                let now = elapsed()
                if now >= latest {
                    hasEnded = true
                    return lines.complete(plan.scopeCount, to: &piece)
                }
                let isSilent = now >= silentUntil
                if source.ticket.takeNews() {
                    guard let (session, new) = try await source.planned(sent) else {
                        return end(
                            SyncStreamFailure(
                                "unauthorized", message: "The session has ended or starts over.", isRetryable: true),
                            piece: &piece)
                    }
                    if !new.isEmpty {
                        source.ticket.noteChange()
                        self.session = session
                        plan = new
                        begin(0)
                        hasBegun = false
                        isComplete = false
                        return
                    }
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
    /// Returns a closure that measures the time since now.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
    }
}

/// The early end of a stream without a server failure.
private struct StreamEnd: Error {
    let failure: SyncStreamFailure
}

/// A writer of the lines without a row.
struct ControlLines: Sendable {
    let session: SyncSession

    func reached(_ leg: StreamPlan.Segment, to bytes: inout [UInt8]) {
        let token = SyncToken(leg.place, position: leg.end, epoch: session.epoch)
        let scope = leg.place.scope == session.own ? "" : "\"scope\":\"\(leg.place.scope)\","
        let data = leg.checkpoint == nil ? ",\"data\":{\"isFull\":true}" : ""
        write("{\"type\":\"\(SyncLine.Name.reached)\",\(scope)\"ack\":\"\(token)\"\(data)}", to: &bytes)
    }

    func complete(_ scopeCount: Int, to bytes: inout [UInt8]) {
        bytes += "{\"type\":\"\(SyncLine.Name.complete)\",".utf8
        bytes += "\"ack\":\"\(token(SyncLine.Name.complete, scope: session.own))\",".utf8
        bytes += "\"data\":{\"scopes\":\(scopeCount),\"history\":".utf8
        SyncValue.write(session.historyID, to: &bytes)
        bytes += "}}\n".utf8
    }

    func scopeDeleted(_ scope: SyncScope, to bytes: inout [UInt8]) {
        write(
            "{\"type\":\"\(SyncLine.Name.scopeDeleted)\",\"scope\":\"\(scope)\","
                + "\"ack\":\"\(token(SyncLine.Name.scopeDeleted, scope: scope))\"}", to: &bytes)
    }

    /// Writes a reset.
    ///
    /// - Parameter place: the type and scope that the device starts over, or nil for everything. The server waits for
    ///   the ack of a complete reset. The ack of one place only says that nothing was received yet.
    func reset(_ reason: SyncReset.Reason, place: SyncToken.Place?, to bytes: inout [UInt8]) {
        let token =
            place.map { "\(SyncToken($0, position: .start, epoch: session.epoch))" }
            ?? token(SyncLine.Name.reset, scope: session.own)
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

    private func token(_ name: String, scope: SyncScope) -> String { "\(name)|\(scope)||\(session.epoch)" }

    private func write(_ line: String, to bytes: inout [UInt8]) {
        bytes += line.utf8
        bytes.append(UInt8(ascii: "\n"))
    }
}

extension SyncStreamFailure {
    /// Creates the failure that a device receives. It contains no statement and no value of a row.
    init(_ error: any Error) {
        switch (error as? SQLFailure)?.code {
        case .busy, .timeout, .unavailable:
            self.init(
                "unavailable", message: "The server's database did not answer in time.", isRetryable: true,
                retryAfter: 5)
        case .noSpace: self.init("no_space", message: "The server's disk is full.", isRetryable: true, retryAfter: 60)
        default:
            self.init(
                "server_error", message: "The server has failed. See its log.", isRetryable: true, retryAfter: 30)
        }
    }
}
