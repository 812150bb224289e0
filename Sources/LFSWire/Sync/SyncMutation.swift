/// A local change on its way up: a line of the body of `POST …/v1/sync/push`.
package struct SyncMutation: Hashable, Sendable {
    package enum Operation: String, Sendable, CaseIterable {
        /// The whole row, whether it is there or not.
        case put
        /// Some columns of a row that is there.
        case patch
        case delete
    }

    /// Lines of a request.
    package static let limit = 500
    /// Bytes of a request.
    package static let byteLimit = 1 << 20

    /// Chosen by the device: the same mutation may come again.
    package var id: String
    /// One more than that of the mutation before.
    package var sequence: Int64
    package var type: SyncType
    package var operation: Operation
    /// The row's primary key.
    package var key: String
    /// Without the key; empty for a deletion.
    package var row: SyncRow
    /// What the device had of the row when it was changed there first; nil from a device that does not say.
    package var seen: SyncSeen?

    package init(
        id: String, sequence: Int64, type: SyncType, operation: Operation, key: String, row: SyncRow = SyncRow(),
        seen: SyncSeen? = nil
    ) {
        (self.id, self.sequence, self.type) = (id, sequence, type)
        (self.operation, self.key, self.row, self.seen) = (operation, key, row, seen)
    }

    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ bytes: UnsafeRawBufferPointer) throws {
        var (id, sequence, type, operation, key) = (
            String?.none, Int64?.none, SyncType?.none, Operation?.none, String?.none
        )
        var row: SyncRow?
        var seen = SyncSeen.Members()
        var scanner = JSONScanner(bytes)
        var names: Set<String> = []
        try scanner.object { scanner, name in
            guard names.insert(name).inserted else {
                throw WireFailure(.invalidRequest, "A mutation has a member twice.")
            }
            switch name {
            case "id": id = try scanner.text()
            case "seq": sequence = try scanner.wholeNumber()
            case "type": type = SyncType(try scanner.text())
            case "op": operation = Operation(rawValue: try scanner.text())
            case "key": key = try scanner.text()
            case "data": row = try SyncRow(&scanner)
            default:
                guard try seen.read(name, &scanner) else {
                    throw WireFailure(.invalidRequest, "A mutation has a member that there is not.")
                }
            }
        }
        try scanner.end()
        guard let id, !id.isEmpty, WireFormat.isPlain(id, limit: 64), let sequence, sequence > 0, let type,
            let operation
        else {
            throw WireFailure(.invalidRequest, "A mutation needs 'id', 'seq' from 1 on, 'type', and 'op'.")
        }
        guard let key, SyncScope.isID(key) else {
            throw WireFailure(
                .invalidRequest,
                "The 'key' of a mutation has to be 1 to 128 visible ASCII characters without | / \" \\.")
        }
        guard (row == nil) == (operation == .delete) else {
            throw WireFailure(.invalidRequest, "A mutation has 'data' unless it is a deletion.")
        }
        self.init(
            id: id, sequence: sequence, type: type, operation: operation, key: key, row: row ?? SyncRow(),
            seen: try seen.checked(before: sequence))
    }

    /// As a line, with its end.
    package func write(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "{\"id\":".utf8)
        SyncValue.write(id, to: &bytes)
        bytes.append(
            contentsOf: ",\"seq\":\(sequence),\"type\":\"\(type)\",\"op\":\"\(operation.rawValue)\",\"key\":".utf8)
        SyncValue.write(key, to: &bytes)
        seen?.write(to: &bytes)
        if operation != .delete {
            bytes.append(contentsOf: ",\"data\":".utf8)
            row.write(to: &bytes)
        }
        bytes.append(contentsOf: "}\n".utf8)
    }
}

/// What came of a mutation: a line of the reply.
package struct SyncMutationResult: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        /// - Parameter position: of the row, or of its deletion; nil when nothing had to change.
        case applied(SyncPosition?)
        /// Not applied, because the row is another by now.
        case conflict(row: SyncRow?)
        /// Not applied, and not to be sent again.
        case rejected(WireFailure, row: SyncRow?)
    }

    package var id: String
    package var sequence: Int64
    package var outcome: Outcome

    package init(id: String, sequence: Int64, _ outcome: Outcome) {
        (self.id, self.sequence, self.outcome) = (id, sequence, outcome)
    }

    /// As a line, with its end.
    package func write(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "{\"id\":".utf8)
        SyncValue.write(id, to: &bytes)
        bytes.append(contentsOf: ",\"seq\":\(sequence),\"result\":".utf8)
        switch outcome {
        case .applied(let position):
            bytes.append(contentsOf: "\"applied\"".utf8)
            if let position { bytes.append(contentsOf: ",\"updateID\":\"\(position)\"".utf8) }
        case .conflict(let row):
            bytes.append(contentsOf: "\"conflict\"".utf8)
            Self.write(row, to: &bytes)
        case .rejected(let failure, let row):
            bytes.append(contentsOf: "\"rejected\",\"code\":\"\(failure.code)\",\"message\":".utf8)
            SyncValue.write(failure.message, to: &bytes)
            Self.write(row, to: &bytes)
        }
        bytes.append(contentsOf: "}\n".utf8)
    }

    private static func write(_ row: SyncRow?, to bytes: inout [UInt8]) {
        guard let row else { return }
        bytes.append(contentsOf: ",\"row\":".utf8)
        row.write(to: &bytes)
    }

    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ bytes: UnsafeRawBufferPointer) throws {
        var (id, sequence, result, position) = (String?.none, Int64?.none, String?.none, SyncPosition?.none)
        var (code, message, row) = ("server_error", "", SyncRow?.none)
        var scanner = JSONScanner(bytes)
        try scanner.object { scanner, name in
            switch name {
            case "id": id = try scanner.text()
            case "seq": sequence = try scanner.wholeNumber()
            case "result": result = try scanner.text()
            case "updateID":
                position = SyncPosition(try scanner.text())
                if position == nil { throw WireFailure(.invalidRequest, "A result has an 'updateID' that is none.") }
            case "code": code = String(try scanner.text().prefix(64))
            case "message": message = String(try scanner.text().prefix(1_024))
            case "row": row = try SyncRow(&scanner)
            default: try scanner.skip()
            }
        }
        try scanner.end()
        guard let id, let sequence else { throw WireFailure(.invalidRequest, "A result has no 'id' or no 'seq'.") }
        switch result {
        case "applied": self.init(id: id, sequence: sequence, .applied(position))
        case "conflict": self.init(id: id, sequence: sequence, .conflict(row: row))
        case "rejected":
            self.init(
                id: id, sequence: sequence, .rejected(WireFailure(.init(rawValue: code), message), row: row))
        default: throw WireFailure(.invalidRequest, "A result is none that this version knows.")
        }
    }
}
