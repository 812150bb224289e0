#if canImport(ObjectiveC)
import ObjectiveC
#endif

/// Runs the body and then releases the objects that Apple's frameworks autoreleased in it. A long-running thread that
/// does not belong to Dispatch would otherwise keep such objects until it ends.
package func withAutoreleasePool<Value>(_ body: () -> Value) -> Value {
    #if canImport(ObjectiveC)
    autoreleasepool(invoking: body)
    #else
    body()
    #endif
}
