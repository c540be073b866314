;; TextWorld's houses: rooms with exits and doors, things on and in furniture, food that is cut, cooked and eaten.
;; An exit that nobody has taken leads to a room that nobody has seen; the belief makes a placeholder for it
;; (`unexplored` in domain.yaml), and `find` may suppose there what is missing (MemPlan, section 3.3).
;; What cannot be undone has its price in the preconditions: food is cut once and cooked once, and only what is meant.
(define (domain textworld)
  (:requirements :strips :typing :negative-preconditions :action-costs)
  (:types
    thing class amount - object
    place findable exit door direction - thing
    room holder - place
    container supporter - holder
    item appliance - findable
    key note - item)
  (:constants n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 - amount)
  (:predicates
    ;; static: what a thing is and can do, given by its class
    (instance_of ?x - thing ?c - class)
    (searchable ?p - place)
    (cooking_room ?r - room)
    (fries ?a - appliance)
    (roasts ?a - appliance)
    (grills ?a - appliance)
    (cuts ?i - item)
    (opens ?k - key)
    (legible ?i - item)
    (edible ?i - item)
    ;; hypotheses
    (candidate ?x - findable ?p - place)
    (refuted ?x - findable ?p - place)
    (found ?x - findable)
    ;; the house
    (exit_of ?e - exit ?r - room)
    (leads_to ?e - exit ?r - room)
    (towards ?e - exit ?w - direction)
    (free ?e - exit)
    (door_of ?d - door ?e - exit)
    (barred ?r - room)
    (part_of ?p - place ?r - room)
    (matches ?k - key ?x - thing)
    (mismatch ?k - key ?x - thing)
    (fitted ?k - key)
    (side ?d - door ?r - room)
    ;; how many things are carried, and which number comes next; the last one is the limit, see `counts` in domain.yaml
    (load ?n - amount)
    (next ?n - amount ?m - amount)
    (laden)
    ;; what changes
    (at ?r - room)
    (in ?x - findable ?p - place)
    (holding ?i - item)
    (closed ?x - thing)
    (locked ?x - thing)
    (observed ?p - place)
    (cut ?i - item)
    (chopped ?i - item)
    (sliced ?i - item)
    (diced ?i - item)
    (cooked ?i - item)
    (fried ?i - item)
    (roasted ?i - item)
    (grilled ?i - item)
    (eaten ?i - item)
    (lies_on ?i - item ?a - appliance)
    (known ?i - item)
    ;; of a cookbook or a note: it was read, its meal was prepared, and enjoyed
    (read ?i - item)
    (prepared ?i - item)
    (enjoyed ?i - item))
  (:functions
    (total-cost) - number
    (distance ?from - room ?to - room) - number
    (check_cost ?x - findable ?p - place) - number)

  ;; moving: plans say where to, see `routes` in domain.yaml for the steps that this takes
  (:action go_to
    :parameters (?from - room ?to - room)
    :precondition (and (at ?from) (not (barred ?to)))
    :effect (and (not (at ?from)) (at ?to) (increase (total-cost) (distance ?from ?to))))
  (:action unlock_door
    :parameters (?d - door ?r - room ?to - room ?k - key)
    :precondition (and (at ?r) (side ?d ?r) (side ?d ?to) (locked ?d) (holding ?k) (opens ?k) (matches ?k ?d))
    :effect (and (not (locked ?d)) (not (barred ?to)) (increase (total-cost) 2)))
  (:action try_door
    :parameters (?d - door ?r - room ?to - room ?k - key)
    :precondition (and (at ?r) (side ?d ?r) (side ?d ?to) (locked ?d) (holding ?k) (opens ?k) (not (fitted ?k)) (not (mismatch ?k ?d)))
    :effect (and (not (locked ?d)) (not (barred ?to)) (increase (total-cost) 20)))
  ;; the steps
  (:action go
    :parameters (?from - room ?to - room ?way - exit ?towards - direction)
    :precondition (and (at ?from) (exit_of ?way ?from) (leads_to ?way ?to) (towards ?way ?towards) (free ?way))
    :effect (and (not (at ?from)) (at ?to) (increase (total-cost) 2)))
  (:action go_through
    :parameters (?from - room ?to - room ?way - exit ?towards - direction ?gate - door)
    :precondition (and (at ?from) (exit_of ?way ?from) (leads_to ?way ?to) (towards ?way ?towards) (door_of ?gate ?way) (not (closed ?gate)))
    :effect (and (not (at ?from)) (at ?to) (increase (total-cost) 2)))
  (:action open_door
    :parameters (?gate - door ?way - exit ?from - room)
    :precondition (and (at ?from) (exit_of ?way ?from) (door_of ?gate ?way) (closed ?gate) (not (locked ?gate)))
    :effect (and (not (closed ?gate)) (increase (total-cost) 2)))

  ;; looking
  (:action find
    :parameters (?x - findable ?p - place ?r - room)
    :precondition (and (at ?r) (part_of ?p ?r) (not (closed ?p)) (candidate ?x ?p) (not (refuted ?x ?p)) (not (found ?x)))
    :effect (and (found ?x) (in ?x ?p) (observed ?p) (increase (total-cost) (check_cost ?x ?p))))
  (:action open
    :parameters (?c - container ?r - room)
    :precondition (and (at ?r) (part_of ?c ?r) (closed ?c) (not (locked ?c)))
    :effect (and (not (closed ?c)) (increase (total-cost) 2)))
  ;; nobody knows which key fits: to try one has a price, and once it is known which does not fit it is no way
  (:action close
    :parameters (?c - container ?r - room)
    :precondition (and (at ?r) (part_of ?c ?r) (not (closed ?c)))
    :effect (and (closed ?c) (increase (total-cost) 2)))
  ;; a door that is to be open, and not only gone through
  (:action swing_open
    :parameters (?d - door ?r - room)
    :precondition (and (at ?r) (side ?d ?r) (closed ?d) (not (locked ?d)))
    :effect (and (not (closed ?d)) (increase (total-cost) 2)))
  (:action close_door
    :parameters (?d - door ?r - room)
    :precondition (and (at ?r) (side ?d ?r) (not (closed ?d)))
    :effect (and (closed ?d) (increase (total-cost) 2)))
  ;; what is to be locked is shut first, and at once, so that nobody goes through again
  (:action lock
    :parameters (?c - container ?r - room ?k - key)
    :precondition (and (at ?r) (part_of ?c ?r) (not (locked ?c)) (holding ?k) (opens ?k) (not (mismatch ?k ?c)))
    :effect (and (closed ?c) (locked ?c) (increase (total-cost) 2)))
  (:action lock_door
    :parameters (?d - door ?r - room ?k - key)
    :precondition (and (at ?r) (side ?d ?r) (not (locked ?d)) (holding ?k) (opens ?k) (not (mismatch ?k ?d)))
    :effect (and (closed ?d) (locked ?d) (increase (total-cost) 2)))
  (:action unlock
    :parameters (?c - container ?r - room ?k - key)
    :precondition (and (at ?r) (part_of ?c ?r) (locked ?c) (holding ?k) (opens ?k) (matches ?k ?c))
    :effect (and (not (locked ?c)) (increase (total-cost) 2)))
  (:action try
    :parameters (?c - container ?r - room ?k - key)
    :precondition (and (at ?r) (part_of ?c ?r) (locked ?c) (holding ?k) (opens ?k) (not (fitted ?k)) (not (mismatch ?k ?c)))
    :effect (and (not (locked ?c)) (increase (total-cost) 20)))
  (:action read_here
    :parameters (?i - item ?r - room)
    :precondition (and (at ?r) (in ?i ?r) (legible ?i))
    :effect (and (read ?i) (increase (total-cost) 2)))
  (:action read_there
    :parameters (?i - item ?h - holder ?r - room)
    :precondition (and (at ?r) (in ?i ?h) (part_of ?h ?r) (not (closed ?h)) (legible ?i))
    :effect (and (read ?i) (increase (total-cost) 2)))
  (:action read_held
    :parameters (?i - item)
    :precondition (and (holding ?i) (legible ?i))
    :effect (and (read ?i) (increase (total-cost) 2)))
  ;; in which state something is that was carried from the beginning is in no room's description
  (:action take_stock
    :parameters (?i - item)
    :precondition (and (holding ?i))
    :effect (and (known ?i) (increase (total-cost) 2)))

  ;; handling
  (:action take
    :parameters (?i - item ?r - room ?n - amount ?m - amount)
    :precondition (and (at ?r) (in ?i ?r) (load ?n) (next ?n ?m))
    :effect (and (holding ?i) (not (in ?i ?r)) (not (load ?n)) (load ?m) (increase (total-cost) 2)))
  (:action take_from
    :parameters (?i - item ?h - holder ?r - room ?n - amount ?m - amount)
    :precondition (and (at ?r) (in ?i ?h) (part_of ?h ?r) (not (closed ?h)) (load ?n) (next ?n ?m))
    :effect (and (holding ?i) (not (in ?i ?h)) (not (load ?n)) (load ?m) (increase (total-cost) 2)))
  (:action drop
    :parameters (?i - item ?r - room ?n - amount ?m - amount)
    :precondition (and (at ?r) (holding ?i) (load ?m) (next ?n ?m))
    :effect (and (in ?i ?r) (not (holding ?i)) (not (load ?m)) (load ?n) (increase (total-cost) 2)))
  (:action put
    :parameters (?i - item ?h - holder ?r - room ?n - amount ?m - amount)
    :precondition (and (at ?r) (holding ?i) (part_of ?h ?r) (not (closed ?h)) (load ?m) (next ?n ?m))
    :effect (and (in ?i ?h) (not (holding ?i)) (not (load ?m)) (load ?n) (increase (total-cost) 2)))
  (:action put_on
    :parameters (?i - item ?a - appliance ?r - room ?n - amount ?m - amount)
    :precondition (and (at ?r) (holding ?i) (in ?a ?r) (load ?m) (next ?n ?m))
    :effect (and (lies_on ?i ?a) (not (holding ?i)) (not (load ?m)) (load ?n) (increase (total-cost) 2)))
  (:action take_off
    :parameters (?i - item ?a - appliance ?r - room ?n - amount ?m - amount)
    :precondition (and (at ?r) (lies_on ?i ?a) (in ?a ?r) (load ?n) (next ?n ?m))
    :effect (and (holding ?i) (not (lies_on ?i ?a)) (not (load ?n)) (load ?m) (increase (total-cost) 2)))

  ;; food; eating frees a hand, which nobody should eat for, so the load is not changed here
  (:action chop
    :parameters (?i - item ?k - item)
    :precondition (and (holding ?i) (holding ?k) (cuts ?k) (not (cut ?i)))
    :effect (and (chopped ?i) (cut ?i) (increase (total-cost) 2)))
  (:action slice
    :parameters (?i - item ?k - item)
    :precondition (and (holding ?i) (holding ?k) (cuts ?k) (not (cut ?i)))
    :effect (and (sliced ?i) (cut ?i) (increase (total-cost) 2)))
  (:action dice
    :parameters (?i - item ?k - item)
    :precondition (and (holding ?i) (holding ?k) (cuts ?k) (not (cut ?i)))
    :effect (and (diced ?i) (cut ?i) (increase (total-cost) 2)))
  (:action fry
    :parameters (?i - item ?a - appliance ?r - room)
    :precondition (and (at ?r) (in ?a ?r) (fries ?a) (holding ?i) (not (cooked ?i)))
    :effect (and (fried ?i) (cooked ?i) (increase (total-cost) 2)))
  (:action roast
    :parameters (?i - item ?a - appliance ?r - room)
    :precondition (and (at ?r) (in ?a ?r) (roasts ?a) (holding ?i) (not (cooked ?i)))
    :effect (and (roasted ?i) (cooked ?i) (increase (total-cost) 2)))
  (:action grill
    :parameters (?i - item ?a - appliance ?r - room)
    :precondition (and (at ?r) (in ?a ?r) (grills ?a) (holding ?i) (not (cooked ?i)))
    :effect (and (grilled ?i) (cooked ?i) (increase (total-cost) 2)))
  (:action prepare
    :parameters (?b - item ?r - room)
    :precondition (and (at ?r) (cooking_room ?r) (legible ?b) (read ?b))
    :effect (and (prepared ?b) (increase (total-cost) 2)))
  (:action enjoy
    :parameters (?b - item)
    :precondition (and (prepared ?b) (not (enjoyed ?b)))
    :effect (and (enjoyed ?b) (increase (total-cost) 2)))
  (:action eat
    :parameters (?i - item)
    :precondition (and (holding ?i))
    :effect (and (eaten ?i) (not (holding ?i)) (increase (total-cost) 2))))
