;; Household tasks for a one-handed mobile manipulator: ALFRED's high-level skills with partial observability.
;; `find` stands for looking for something that nobody has seen yet in one candidate place (MemPlan, section 3.3):
;; its cost is the price of that hypothesis and `refuted` excludes the places that were looked at in vain.
(define (domain household)
  (:requirements :strips :typing :negative-preconditions :action-costs)
  (:types
    thing class - object
    place item - thing
    fixture - place
    movable_receptacle - item)
  (:predicates
    ;; static: what a thing is and can do, given by its class
    (instance_of ?x - thing ?c - class)
    (receptacle ?f - fixture)
    (work_surface ?f - fixture)
    (openable ?f - fixture)
    (heats ?f - fixture)
    (cools ?f - fixture)
    (cleans ?f - fixture)
    (toggleable ?f - fixture)
    (lights ?f - fixture)
    (pickupable ?i - item)
    (sliceable ?i - item)
    (cuts ?i - item)
    ;; hypotheses
    (candidate ?i - item ?f - fixture)
    (refuted ?i - item ?f - fixture)
    (found ?i - item)
    ;; what changes
    (at ?p - place)
    (in ?i - item ?r - thing)
    (holding ?i - item)
    (hand_empty)
    (closed ?f - fixture)
    (observed ?f - fixture)
    (sliced ?i - item)
    (hot ?i - item)
    (cold ?i - item)
    (cleaned ?i - item)
    (dirty ?i - item)
    (switched_on ?f - fixture)
    (examined ?i - item))
  (:functions
    (total-cost) - number
    (distance ?from - place ?to - fixture) - number
    (check_cost ?i - item ?f - fixture) - number)

  (:action go_to
    :parameters (?from - place ?to - fixture)
    :precondition (and (at ?from))
    :effect (and (not (at ?from)) (at ?to) (increase (total-cost) (distance ?from ?to))))
  (:action look
    :parameters (?f - fixture)
    :precondition (and (at ?f) (not (closed ?f)))
    :effect (and (observed ?f) (increase (total-cost) 1)))
  (:action find
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (not (closed ?f)) (candidate ?i ?f) (not (refuted ?i ?f)) (not (found ?i)))
    :effect (and (found ?i) (in ?i ?f) (observed ?f) (increase (total-cost) (check_cost ?i ?f))))
  (:action pick_up
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)) (pickupable ?i) (hand_empty))
    :effect (and (holding ?i) (not (in ?i ?f)) (not (hand_empty)) (increase (total-cost) 2)))
  (:action take_out
    :parameters (?i - item ?m - movable_receptacle ?f - fixture)
    :precondition (and (at ?f) (in ?i ?m) (in ?m ?f) (not (closed ?f)) (pickupable ?i) (hand_empty))
    :effect (and (holding ?i) (not (in ?i ?m)) (not (hand_empty)) (increase (total-cost) 2)))
  (:action put
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (receptacle ?f) (not (closed ?f)))
    :effect (and (in ?i ?f) (hand_empty) (not (holding ?i)) (increase (total-cost) 2)))
  (:action put_into
    :parameters (?i - item ?m - movable_receptacle ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (in ?m ?f) (not (closed ?f)))
    :effect (and (in ?i ?m) (hand_empty) (not (holding ?i)) (increase (total-cost) 2)))
  (:action open
    :parameters (?f - fixture)
    :precondition (and (at ?f) (openable ?f) (closed ?f) (hand_empty))
    :effect (and (not (closed ?f)) (increase (total-cost) 2)))
  (:action close
    :parameters (?f - fixture)
    :precondition (and (at ?f) (openable ?f) (not (closed ?f)) (hand_empty))
    :effect (and (closed ?f) (increase (total-cost) 2)))
  (:action slice
    :parameters (?i - item ?k - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (work_surface ?f) (not (closed ?f)) (holding ?k) (cuts ?k) (sliceable ?i) (not (sliced ?i)))
    :effect (and (sliced ?i) (increase (total-cost) 3)))
  (:action heat
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (heats ?f) (not (closed ?f)))
    :effect (and (hot ?i) (not (cold ?i)) (increase (total-cost) 4)))
  (:action cool
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (cools ?f) (not (closed ?f)))
    :effect (and (cold ?i) (not (hot ?i)) (increase (total-cost) 4)))
  (:action clean
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (cleans ?f))
    :effect (and (cleaned ?i) (not (dirty ?i)) (increase (total-cost) 3)))
  (:action toggle_on
    :parameters (?f - fixture)
    :precondition (and (at ?f) (toggleable ?f) (not (switched_on ?f)))
    :effect (and (switched_on ?f) (increase (total-cost) 1)))
  (:action toggle_off
    :parameters (?f - fixture)
    :precondition (and (at ?f) (toggleable ?f) (switched_on ?f))
    :effect (and (not (switched_on ?f)) (increase (total-cost) 1)))
  (:action examine
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (lights ?f) (switched_on ?f))
    :effect (and (examined ?i) (increase (total-cost) 1))))
