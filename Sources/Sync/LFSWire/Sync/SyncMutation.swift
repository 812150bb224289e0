/// A local change that a device sends, as a line in the body of `POST …/v1/sync/push`.
package struct SyncMutation: Hashable, Sendable {
    package enum Operation: String, Sendable, CaseIterable {
        /// Writes the whole row, whether it exists or not.
        case put
        /// Changes some columns of an existing row.
        case patch
        case delete
    }

    /// The maximum number of lines in a request.
    package static let limit = 500
    /// The maximum size of a request in bytes.
    package static let byteLimit = 1 << 20

    /// The identity that the device has chosen. The same mutation may be sent more than once.
    package var id: String
    /// The number of the previous mutation plus one.
    package var sequence: Int64
    package var type: SyncType
    package var operation: Operation
    /// The row's primary key.
    package var key: String
    /// The columns without the key. Empty for a deletion.
    package var row: SyncRow
    /// The base version of the row when the device first changed it. Nil from a device that does not send it.
    package var seen: BaseVersion?

    package init(
        id: String, sequence: Int64, type: SyncType, operation: Operation, key: String, row: SyncRow = SyncRow(),
        seen: BaseVersion? = nil
    ) {
        self.id = id
        self.sequence = sequence
        self.type = type
        self.operation = operation
        self.key = key
        self.row = row
        self.seen = seen
    }

    /// Reads a mutation from a line.
    ///
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ bytes: UnsafeRawBufferPointer) throws {
        var (id, sequence, type, operation, key) = (
            String?.none, Int64?.none, SyncType?.none, Operation?.none, String?.none
        )
        var row: SyncRow?
        var seen = BaseVersion.Members()
        var scanner = JSONScanner(bytes)
        var names: Set<String> = []
        try scanner.object { scanner, name in
            guard names.insert(name).inserted else {
                throw WireFailure(.invalidRequest, message: "A mutation has a member twice.")
            }
            switch name {
            case "id": id = try scanner.text()
            case "seq": sequence = try scanner.wholeNumber()
            case "type": type = SyncType(try scanner.text())
            case "op": operation = Operation(rawValue: try scanner.text())
            case "key": key = try scanner.text()
            case "data": row = try SyncRow(&scanner)
            default:
                guard try seen.read(name, scanner: &scanner) else {
                    throw WireFailure(.invalidRequest, message: "A mutation has an unknown member.")
                }
            }
        }
        try scanner.end()
        guard let id, !id.isEmpty, WireFormat.isPlain(id, limit: 64), let sequence, sequence > 0, let type,
            let operation
        else {
            throw WireFailure(.invalidRequest, message: "A mutation needs 'id', 'seq' of at least 1, 'type', and 'op'.")
        }
        guard let key, SyncScope.isID(key) else {
            throw WireFailure(
                .invalidRequest,
                message: "The 'key' of a mutation has to be 1 to 128 visible ASCII characters without | / \" \\.")
        }
        guard (row == nil) == (operation == .delete) else {
            throw WireFailure(.invalidRequest, message: "A mutation needs 'data', and a deletion must not have it.")
        }
        self.init(
            id: id, sequence: sequence, type: type, operation: operation, key: key, row: row ?? SyncRow(),
            seen: try seen.checked(before: sequence))
    }

    /// Writes the mutation as a line with its line ending.
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

/// The result of a mutation, as a line of the reply.
package struct SyncMutationResult: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        /// - Parameter position: the position of the row or of its deletion. Nil if nothing had to change.
        case applied(SyncPosition?)
        /// Not applied, because the row has changed in the meantime.
        case conflict(row: SyncRow?)
        /// Not applied. The mutation must not be sent again.
        case rejected(WireFailure, row: SyncRow?)
    }

    package var id: String
    package var sequence: Int64
    package var outcome: Outcome

    package init(id: String, sequence: Int64, _ outcome: Outcome) {
        self.id = id
        self.sequence = sequence
        self.outcome = outcome
    }

    /// Writes the result as a line with its line ending.
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
            if let exceeded = failure.exceeded {
                bytes.append(contentsOf: ",\"limit\":\"\(exceeded.name)\",\"value\":\(exceeded.value)".utf8)
            }
            Self.write(row, to: &bytes)
        }
        bytes.append(contentsOf: "}\n".utf8)
    }

    private static func write(_ row: SyncRow?, to bytes: inout [UInt8]) {
        guard let row else { return }
        bytes.append(contentsOf: ",\"row\":".utf8)
        row.write(to: &bytes)
    }

    /// Reads a result from a line.
    ///
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ bytes: UnsafeRawBufferPointer) throws {
        var (id, sequence, result, position) = (String?.none, Int64?.none, String?.none, SyncPosition?.none)
        var (code, message, row) = ("server_error", "", SyncRow?.none)
        var (limit, value) = (String?.none, Int64?.none)
        var scanner = JSONScanner(bytes)
        try scanner.object { scanner, name in
            switch name {
            case "id": id = try scanner.text()
            case "seq": sequence = try scanner.wholeNumber()
            case "result": result = try scanner.text()
            case "updateID":
                position = SyncPosition(try scanner.text())
                if position == nil {
                    throw WireFailure(.invalidRequest, message: "A result has an invalid 'updateID'.")
                }
            case "code": code = String(try scanner.text().prefix(64))
            case "message": message = String(try scanner.text().prefix(1_024))
            case "row": row = try SyncRow(&scanner)
            case "limit": limit = try scanner.text()
            case "value": value = try scanner.wholeNumber()
            default: try scanner.skip()
            }
        }
        try scanner.end()
        guard let id, let sequence else {
            throw WireFailure(.invalidRequest, message: "A result has no 'id' or no 'seq'.")
        }
        switch result {
        case "applied": self.init(id: id, sequence: sequence, .applied(position))
        case "conflict": self.init(id: id, sequence: sequence, .conflict(row: row))
        case "rejected":
            var failure = WireFailure(.init(rawValue: code), message: message)
            failure.exceeded = ExceededLimit(checking: limit, value: value)
            self.init(id: id, sequence: sequence, .rejected(failure, row: row))
        default: throw WireFailure(.invalidRequest, message: "A result has a kind that this version does not support.")
        }
    }
}
