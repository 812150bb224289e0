// The part of Apple's framework Network that this package uses. Only for typechecking with Tests/House/apple. Written
// from Apple's documentation.
public import Dispatch

@available(macOS 10.14, iOS 12, *)
public final class NWPathMonitor: @unchecked Sendable {
    public init() {}
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}

@available(macOS 10.14, iOS 12, *)
public struct NWPath: Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public let status: Status
    public let availableInterfaces: [NWInterface]
    public let isExpensive: Bool
    @available(macOS 10.15, iOS 13, *)
    public var isConstrained: Bool { false }
}

@available(macOS 10.14, iOS 12, *)
public struct NWInterface: Sendable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
    public let type: InterfaceType
    public let name: String
}
