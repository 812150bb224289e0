public import Foundation
import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An error for an address that a server cannot listen on.
public struct ListenError: LocalizedError, Sendable, CustomStringConvertible {
    /// A message for the operator, with the address and the option.
    public let description: String

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// Creates the error, or returns nil if the server's error is not an error of the system.
    ///
    /// - Parameters:
    ///   - error: the error of the server.
    ///   - address: the host and port.
    ///   - option: the command-line option that sets the address.
    public init?(_ error: any Error, address: String, option: String) {
        guard let error = error as? IOError else { return nil }
        description =
            switch error.errnoCode {
            case EADDRINUSE:
                "Another program listens on \(address). Stop it, or choose another port with \(option)."
            case EADDRNOTAVAIL: "This machine does not have the address \(address). Choose another with \(option)."
            case EACCES:
                "This user may not listen on \(address). Choose a port above 1023 with \(option)."
            default: "The server cannot listen on \(address): \(String(cString: strerror(error.errnoCode)))."
            }
    }
}
