/// A value of a list, or the reason why it is invalid. An invalid value does not affect the others in its message.
package enum Checked<Value: Codable & Sendable>: Codable, Sendable {
    case valid(Value)
    case refused(WireFailure)

    package init(from decoder: any Decoder) throws {
        do {
            self = .valid(try Value(from: decoder))
        } catch {
            self = .refused(WireFailure(decoding: error))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .valid(let value): try value.encode(to: encoder)
        case .refused(let failure): throw failure
        }
    }

    /// Returns the value.
    ///
    /// - Throws: the reason why the value is invalid.
    package func get() throws(WireFailure) -> Value {
        switch self {
        case .valid(let value): return value
        case .refused(let failure): throw failure
        }
    }
}
