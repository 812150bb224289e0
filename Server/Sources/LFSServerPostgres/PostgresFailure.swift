import CPostgres
import Foundation
import LFSSyncServer

/// A failure of PostgreSQL with its code of five characters
/// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
struct PostgresFailure: Error {
    /// The code, or an empty text if libpq failed and not the server.
    let state: String
    let failure: SQLFailure

    /// - Parameter result: the result of a failed statement.
    init(_ result: OpaquePointer?, connection: OpaquePointer?) {
        if let state = PQresultErrorField(result, lfs_diagnosis_state) {
            let message = PQresultErrorField(result, lfs_diagnosis_message).map { String(cString: $0) } ?? ""
            self.init(state: String(cString: state), message: message)
        } else {
            self.init(unreachable: connection)
        }
    }

    init(state: String, message: String) {
        self.state = state
        failure = SQLFailure(Self.code(state), message: Self.told(message, state: state))
    }

    /// Creates the failure of a connection that has ended or could not be opened.
    init(unreachable connection: OpaquePointer?) {
        let words = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        state = ""
        failure = SQLFailure(
            .unavailable,
            message: words.isEmpty ? "The connection has ended." : words.split(separator: "\n").joined(separator: " "))
    }

    /// Indicates that the transaction may succeed when it is repeated: it conflicted with another one, or a table has
    /// changed since the statement was prepared.
    var isTransient: Bool {
        ["40001", "40P01"].contains(state) || (state == "0A000" && failure.message.hasPrefix("cached plan"))
    }

    private static func code(_ state: String) -> SQLFailure.Code {
        switch state {
        case "42804", "54000", "54011", "54023": .invalidValue
        case "P0001": .constraint
        case "40001", "40P01", "55P03": .busy
        // 54001 is a deletion over too many levels.
        case "54001", "57014", "25P03", "25P04": .timeout
        case "53100": .noSpace
        default:
            switch state.prefix(2) {
            case "23": .constraint
            case "22": .invalidValue
            case "08", "53", "57": .unavailable
            default: .unusable
            }
        }
    }

    /// Returns the first line, which names columns and constraints. If the error concerns a value, the value follows a
    /// colon and is removed.
    private static func told(_ message: String, state: String) -> String {
        let line = message.split(separator: "\n").first.map(String.init) ?? "PostgreSQL has failed with \(state)."
        guard ["22", "42"].contains(state.prefix(2)), let end = line.range(of: ": \"")?.lowerBound else { return line }
        return String(line[..<end])
    }
}
